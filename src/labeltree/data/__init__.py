"""Readers: files and streams in, CSR rows and labels out."""
