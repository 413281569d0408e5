// For functions that must become part of their callers, which are compiled for several processors.
#pragma once

#define LABELTREE_INLINE inline __attribute__((always_inline))
