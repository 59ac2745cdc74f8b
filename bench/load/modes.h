// The modes of the program. Each mode has its own file.
#pragma once
#include "options.h"

int run_backend(const Options& options);
int run_connections(const Options& options);
int run_requests(const Options& options);
int run_bulk(const Options& options);
int run_idle(const Options& options);
int run_correctness(const Options& options);
int run_spin(const Options& options);
