#!/usr/bin/env python3
"""Measures the CPU time of probing many GPUs, with fake trees of PCI functions and of partitions.

Usage: scripts/probe_cost.py PROGRAM [GPUS]
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

GPU = {
    "class": "0x030000",
    "current_link_speed": "16.0 GT/s PCIe",
    "current_link_width": "16",
    "gpu_busy_percent": "0",
    "hwmon/hwmon0/fan1_input": "0",
    "hwmon/hwmon0/name": "amdgpu",
    "hwmon/hwmon0/power1_average": "29000000",
    "hwmon/hwmon0/power1_cap": "300000000",
    "hwmon/hwmon0/temp1_input": "53000",
    "hwmon/hwmon0/temp1_label": "edge",
    "max_link_speed": "16.0 GT/s PCIe",
    "max_link_width": "16",
    "mem_info_vram_total": "25753026560",
    "mem_info_vram_used": "1000000",
    "power/runtime_status": "active",
    "pp_dpm_mclk": "0: 96Mhz *\n1: 1249Mhz",
    "pp_dpm_sclk": "0: 500Mhz *\n1: 2499Mhz",
    "vendor": "0x1002",
}


def write(directory: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def function(root: pathlib.Path, number: int, device: str) -> None:
    """Writes one PCI function, as the DRM and the bus show it."""
    bus, slot = divmod(number, 32)
    address = f"{bus >> 8:04x}:{bus & 255:02x}:{slot:02x}.0"
    place = root / "devices" / "pci0000:00" / address
    event = f"DRIVER=amdgpu\nPCI_ID=1002:{device}\nPCI_SLOT_NAME={address}"
    write(place, GPU | {"uevent": event, "device": f"0x{device.lower()}"})
    for link in (root / f"class/drm/card{number}/device", root / "bus/pci/devices" / address):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(place)


def partition(root: pathlib.Path, number: int, of: int) -> None:
    """Writes a node of the compute driver: an eighth of an MI300X, with links to all others and its caches."""
    gpu, part = divmod(number, 8)
    node = root / f"class/kfd/kfd/topology/nodes/{number + 1}"
    known = {
        "vendor_id": 0x1002,
        "device_id": 0x74A1,
        "location_id": gpu << 3 | part,
        "unique_id": 0x1000 + gpu,
        "simd_count": 152,
        "simd_per_cu": 4,
        "gfx_target_version": 90402,
        "max_engine_clk_fcompute": 2100,
    }
    write(node, {"name": "ip discovery", "properties": "\n".join(f"{name} {value}" for name, value in known.items())})
    write(node / "mem_banks/0", {"properties": "heap_type 1\nsize_in_bytes 25769803776\nwidth 8192\nmem_clk_max 1300"})
    for other in range(of):
        write(node / f"io_links/{other}", {"properties": f"type 11\nnode_to {other + 1}\nweight 15\nmax_bandwidth 64000"})
    for cache in range(40):
        write(node / f"caches/{cache}", {"properties": "level 1\nsize 32\ntype 9"})


def cost(program: str, verb: str, root: pathlib.Path) -> float:
    """Returns the shortest CPU time of three runs, in milliseconds."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, verb, "--sysfs-root", str(root), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * min(times)


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    gpus = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as directory:
        many, split = pathlib.Path(directory) / "many", pathlib.Path(directory) / "split"
        for number in range(gpus):
            function(many, number, "744C")
        for gpu in range(8):
            function(split, gpu, "74A1")
        for number in range(64):
            partition(split, number, 64)
        for verb in ("probe", "gpu-capability"):
            print(f"{verb}, {gpus} GPUs: {cost(program, verb, many):.0f} ms of CPU")
            print(f"{verb}, 8 GPUs of 8 partitions: {cost(program, verb, split):.0f} ms of CPU")


main()
