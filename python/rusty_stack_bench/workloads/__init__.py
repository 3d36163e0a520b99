"""What is measured of ML frameworks: one file a component, one function a workload."""
