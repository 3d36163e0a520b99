"""Workloads of ML frameworks: one module per component, one function per workload."""
