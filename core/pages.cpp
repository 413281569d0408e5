#include "pages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace labeltree {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
constexpr bool may_map = false;
#else
constexpr bool may_map = true;
#endif

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

bool worth_mapping(std::size_t bytes) { return may_map && bytes >= huge_page; }

#ifdef __linux__

namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_size() - 1) / page_size() * page_size();
}

// Maps whole pages that begin on the boundary of a huge one. Nothing is reserved for them: an array
// that is mostly empty may be larger than the memory.
void* map_aligned(std::size_t bytes, int protection) {
  const std::size_t all = bytes + huge_page;
  void* mapped = mmap(nullptr, all, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(mapped);
  const std::size_t off = reinterpret_cast<std::uintptr_t>(begin) % huge_page;
  std::byte* data = off == 0 ? begin : begin + (huge_page - off);
  if (data > begin) munmap(begin, static_cast<std::size_t>(data - begin));
  std::byte* end = data + bytes;
  munmap(end, static_cast<std::size_t>(begin + all - end));
  return data;
}

void advise(void* data, std::size_t bytes, Pages pages) {
  madvise(data, whole_pages(bytes), pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

// The kernel's table of this process's pages: eight bytes a page.
class PageMap {
 public:
  PageMap() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }

  // Fills in the entries from that of an address on; false if they cannot be told.
  bool read(std::uintptr_t address, std::vector<std::uint64_t>& entries) const {
    const std::size_t bytes = entries.size() * sizeof(std::uint64_t);
    const auto offset = static_cast<off_t>(address / page_size() * sizeof(std::uint64_t));
    return file_ >= 0 && pread(file_, entries.data(), bytes, offset) == static_cast<ssize_t>(bytes);
  }

  static bool is_written(std::uint64_t entry) { return entry >> 62 != 0; }  // in memory, or in swap

 private:
  int file_;
};

}  // namespace

void* map_pages(std::size_t bytes, Pages pages) {
  void* data = map_aligned(whole_pages(bytes), PROT_READ | PROT_WRITE);
  advise(data, bytes, pages);
  return data;
}

void* remap_pages(void* data, std::size_t bytes, std::size_t larger, Pages pages) {
  void* place = map_aligned(whole_pages(larger), PROT_NONE);
  void* moved = mremap(data, whole_pages(bytes), whole_pages(larger),
                       MREMAP_MAYMOVE | MREMAP_FIXED, place);
  if (moved != MAP_FAILED) return moved;
  // The place, addresses only, is given up: it may be another's already.
  void* copy = map_pages(larger, pages);
  visit_written(data, bytes, [&](std::size_t begin, std::size_t end) {
    std::memcpy(static_cast<std::byte*>(copy) + begin, static_cast<std::byte*>(data) + begin,
                end - begin);
  });
  unmap_pages(data, bytes);
  return copy;
}

void unmap_pages(void* data, std::size_t bytes) noexcept { munmap(data, whole_pages(bytes)); }

void refuse_huge_pages(void* data, std::size_t bytes) { advise(data, bytes, Pages::small); }

void visit_written(const void* data, std::size_t bytes,
                   const std::function<void(std::size_t, std::size_t)>& visit) {
  constexpr std::size_t worth_asking = std::size_t{64} << 20;  // less is as soon read
  constexpr std::size_t at_once = std::size_t{1} << 16;        // pages
  if (bytes < worth_asking) return visit(0, bytes);
  const PageMap map;
  const std::size_t pages = whole_pages(bytes) / page_size();
  std::vector<std::uint64_t> entries;
  for (std::size_t first = 0; first < pages; first += at_once) {
    entries.resize(std::min(at_once, pages - first));
    const std::size_t begin = first * page_size();
    if (!map.read(reinterpret_cast<std::uintptr_t>(data) + begin, entries)) {
      return visit(begin, bytes);
    }
    for (std::size_t i = 0; i < entries.size();) {
      if (!PageMap::is_written(entries[i])) {
        ++i;
        continue;
      }
      const std::size_t from = i;
      while (i < entries.size() && PageMap::is_written(entries[i])) ++i;
      visit((first + from) * page_size(), std::min(bytes, (first + i) * page_size()));
    }
  }
}

#else

void* map_pages(std::size_t, Pages) { throw std::bad_alloc(); }
void* remap_pages(void*, std::size_t, std::size_t, Pages) { throw std::bad_alloc(); }
void unmap_pages(void*, std::size_t) noexcept {}
void refuse_huge_pages(void*, std::size_t) {}
void visit_written(const void*, std::size_t bytes,
                   const std::function<void(std::size_t, std::size_t)>& visit) {
  visit(0, bytes);
}

#endif

}  // namespace labeltree
