// What it costs to read lines at random places of tables of several sizes, of which some have to be
// there before the place of the next ones is known; for bench/growth.py, which compiles it.
//
//   misses LINES_AT_A_TIME BYTES ...     prints nanoseconds a line, for each size
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t reads = 1 << 21;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double nanoseconds(const char* table, std::size_t lines, std::size_t together) {
  std::uint64_t known = 0;  // always zero, which only the processor does not know
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < reads; i += together) {
    std::uint64_t sum = 0;
    for (std::size_t j = i; j < i + together; ++j) {
      sum += static_cast<unsigned char>(table[(mix(j + known) & (lines - 1)) * line]);
    }
    known = sum;
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return known == 0 ? spent.count() / reads : -1.0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t together = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  for (int i = 2; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);  // a power of two
    void* table = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) throw std::bad_alloc();
    madvise(table, bytes, MADV_HUGEPAGE);
    std::fill_n(static_cast<char*>(table), bytes, '\0');
    double least = 1e9;
    for (int repeat = 0; repeat < 7; ++repeat) {
      least = std::min(least, nanoseconds(static_cast<char*>(table), bytes / line, together));
    }
    std::printf("%.3f\n", least);
    munmap(table, bytes);
  }
}
