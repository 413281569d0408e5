#include "linear/loss.hpp"
