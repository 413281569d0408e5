// Zeroed memory straight from the operating system, for large arrays.
#pragma once

#include <cstddef>
#include <functional>

namespace labeltree {

enum class Pages { huge, small };

// Whether so many bytes are taken in pages of their own. Never where sanitizers watch the heap.
bool worth_mapping(std::size_t bytes);

// Takes memory, on the boundary of a huge page. It counts as used page by page, once it is written.
// All throw std::bad_alloc if there is no room for it.
void* map_pages(std::size_t bytes, Pages pages);
// Makes it larger; what is new is zero. It may move, without a copy of what was never written.
void* remap_pages(void* data, std::size_t bytes, std::size_t larger, Pages pages);
void unmap_pages(void* data, std::size_t bytes) noexcept;
void refuse_huge_pages(void* data, std::size_t bytes);

// Calls visit(begin, end), in bytes and in their order, for stretches outside of which nothing was
// ever written.
void visit_written(const void* data, std::size_t bytes,
                   const std::function<void(std::size_t, std::size_t)>& visit);

}  // namespace labeltree
