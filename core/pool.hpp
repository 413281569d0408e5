// Working memory that threads borrow and give back, so that it is made once and used again.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fork_gate.hpp"

namespace labeltree {

template <class T>
class Pool {
 public:
  // Gives its object back when it goes.
  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() {
      const std::lock_guard lock(fork_gate());
      pool_.idle_.push_back(std::move(object_));  // there is room: borrow() saw to it
    }
    T& operator*() const { return *object_; }

   private:
    Pool& pool_;
    std::unique_ptr<T> object_;
  };

  Loan borrow() {
    const std::lock_guard lock(fork_gate());
    if (idle_.empty()) {
      auto made = std::make_unique<T>();
      idle_.reserve(++made_);
      return {*this, std::move(made)};
    }
    auto object = std::move(idle_.back());
    idle_.pop_back();
    return {*this, std::move(object)};
  }

 private:
  std::vector<std::unique_ptr<T>> idle_;
  std::size_t made_ = 0;
};

}  // namespace labeltree
