#!/usr/bin/env python3
"""Writes the manifests of this folder: machines as the kernel shows them, one text file each.

They follow the kernel's documented formats (Documentation/ABI, <linux/kfd_sysfs.h>); serial numbers
and addresses are made up. `python3 tests/machines/make.py` writes them all anew; a test holds the
files against it. RecordedMachine in src/drivers/sysfs/machine_fixture.h unpacks one.
"""
import sys
from pathlib import Path, PurePosixPath

HERE = Path(__file__).parent
GIB = 1 << 30


def relative(link, target):
    """RETURNS: the path from the folder of `link` to `target`."""
    from_parts, to_parts = PurePosixPath(link).parent.parts, PurePosixPath(target).parts
    common = 0
    while (common < min(len(from_parts), len(to_parts))
           and from_parts[common] == to_parts[common]):
        common += 1
    return "/".join([".."] * (len(from_parts) - common) + list(to_parts[common:]))


def cpu_mask(cpus, width):
    """RETURNS: "00000000,0000ffff", the kernel's bitmap of `cpus`."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [(bits >> (32 * i)) & 0xffffffff for i in range((width + 31) // 32)]
    return ",".join(f"{word:08x}" for word in reversed(words))


def cpu_list(cpus):
    """RETURNS: "0-15,32-47"."""
    ranges = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


class Machine:
    def __init__(self, title):
        self.title = title
        self.lines = {}
        self.hwmons = 0
        self.groups = 0

    def file(self, path, *content):
        self.lines[path] = "\\n".join(str(line) for line in content)

    def files(self, folder, **contents):
        for name, content in contents.items():
            self.file(f"{folder}/{name}", content)

    def link(self, path, target):
        self.lines[path] = "-> " + relative(path, target)

    def folder(self, path):
        self.lines[path] = "/"

    def cpus(self, nodes, cores, threads, gib):
        """`nodes` NUMA nodes, one package each; the threads of a core stand `nodes*cores` apart."""
        total = nodes * cores * threads
        folder = "sys/devices/system/cpu"
        for name in ("online", "possible", "present"):
            self.file(f"{folder}/{name}", cpu_list(range(total)))
            self.file(f"sys/devices/system/node/{name}", cpu_list(range(nodes)))
        for node in range(nodes):
            mine = [t * nodes * cores + node * cores + c
                    for t in range(threads) for c in range(cores)]
            for cpu in mine:
                core = cpu % (nodes * cores)
                siblings = [core + t * nodes * cores for t in range(threads)]
                self.files(f"{folder}/cpu{cpu}/topology", core_id=core % cores,
                           physical_package_id=node, core_cpus=cpu_mask(siblings, total),
                           package_cpus=cpu_mask(mine, total))
            place = f"sys/devices/system/node/node{node}"
            kib = gib * (1 << 20) // nodes
            self.files(place, cpumap=cpu_mask(mine, total), cpulist=cpu_list(mine),
                       distance=" ".join("10" if n == node else "32" for n in range(nodes)))
            self.file(f"{place}/meminfo", f"Node {node} MemTotal:       {kib} kB",
                      f"Node {node} MemFree:        {kib // 2} kB")
        self.file("proc/meminfo", f"MemTotal:       {gib * (1 << 20)} kB",
                  f"MemFree:        {gib * (1 << 19)} kB")
        self.file("proc/cpuinfo", *[f"processor\\t: {cpu}" for cpu in range(total)])

    def pci(self, *steps, ids="0000:0000", sub="0000:0000", kind="060400", numa=0, gen=5, lanes=16):
        """A function at the end of `steps`, host bridge first. RETURNS: its folder."""
        folder = "sys/devices/" + "/".join(steps)
        vendor, device = ids.split(":")
        sub_vendor, sub_device = sub.split(":")
        speed = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0"}[gen] + " GT/s PCIe"
        self.files(folder, vendor="0x" + vendor, device="0x" + device, **{"class": "0x" + kind},
                   subsystem_vendor="0x" + sub_vendor, subsystem_device="0x" + sub_device,
                   numa_node=numa, max_link_speed=speed, max_link_width=lanes,
                   current_link_speed=speed, current_link_width=lanes)
        self.link(f"sys/bus/pci/devices/{steps[-1]}", folder)
        return folder

    def switch(self, bus, numa, gen=5):
        """A root port below host bridge `bus` and a switch with two ports below that.
        RETURNS: the steps down to each of the switch's ports, and the buses behind them."""
        root, port = f"pci0000:{bus:02x}", f"0000:{bus:02x}:01.0"
        up = f"0000:{bus + 1:02x}:00.0"
        downs = [f"0000:{bus + 2:02x}:{slot:02x}.0" for slot in (0, 1)]
        for steps in ([port], [port, up], [port, up, downs[0]], [port, up, downs[1]]):
            self.pci(root, *steps, ids="1000:c030", numa=numa, gen=gen)
        return [([root, port, up, down], bus + 3 + i) for i, down in enumerate(downs)]

    def driver(self, folder, name):
        self.folder(f"sys/bus/pci/drivers/{name}")
        self.link(f"{folder}/driver", f"sys/bus/pci/drivers/{name}")

    def dev(self, path):
        self.file("dev/" + path, "")

    def net(self, folder, name, speed, up=True, address="b8:3f:d2:00:00:01"):
        place = f"{folder}/net/{name}"
        self.files(place, operstate="up" if up else "down", carrier=int(up), speed=speed,
                   address=address, mtu=9000, type=1)
        self.files(f"{place}/statistics", rx_bytes=123456789, tx_bytes=987654321, rx_errors=0,
                   tx_errors=0, rx_dropped=3, tx_dropped=0)
        if folder.startswith("sys/devices/pci"):
            self.link(f"{place}/device", folder)
        self.link(f"sys/class/net/{name}", place)

    def infiniband(self, folder, name, rate, layer="InfiniBand", up=True):
        place = f"{folder}/infiniband/{name}"
        self.link(f"sys/class/infiniband/{name}", place)
        self.link(f"{place}/device", folder)
        guid = f"b83f:d203:0000:{len(self.lines):04x}"
        self.files(place, node_type="1: CA", node_guid=guid, fw_ver="28.39.1002",
                   hca_type="MT4129")
        port = f"{place}/ports/1"
        if layer == "InfiniBand":
            self.file(f"{port}/gids/0", f"fe80:0000:0000:0000:{guid}")
        self.files(port, state="4: ACTIVE" if up else "1: DOWN",
                   phys_state="5: LinkUp" if up else "3: Disabled", rate=rate, link_layer=layer,
                   lid="0x12", sm_lid="0x1")
        self.files(f"{port}/counters", link_downed=1, link_error_recovery=0, symbol_error=0,
                   port_rcv_errors=0, port_xmit_discards=2, port_xmit_wait=17,
                   port_rcv_data=1 << 30, port_xmit_data=1 << 31, local_link_integrity_errors=0,
                   excessive_buffer_overrun_errors=0)
        self.files(f"{port}/hw_counters", out_of_sequence=0, packet_seq_err=0,
                   local_ack_timeout_err=0, rnr_nak_retry_err=0, roce_adp_retrans=0,
                   roce_slow_restart=0)

    def hwmon(self, folder, name, **values):
        place = f"{folder}/hwmon/hwmon{self.hwmons}"
        self.hwmons += 1
        self.files(place, name=name, **values)

    def write(self, name):
        text = f"# {self.title}\n# Written by make.py beside this file.\n"
        text += "".join(f"{path}\t{content}\n" for path, content in self.lines.items())
        return f"{name}.txt", text


def kfd(machine, cpu_nodes, gpus):
    """KFD's topology: CPU nodes first, then `gpus`, each a dict of properties, and VRAM."""
    topology = "sys/devices/virtual/kfd/kfd/topology"
    machine.link("sys/class/kfd/kfd", "sys/devices/virtual/kfd/kfd")
    machine.folder("sys/devices/virtual/kfd/kfd/proc")
    machine.file(f"{topology}/generation_id", 2)
    machine.file(f"{topology}/system_properties", "platform_oem 0", "platform_id 0",
                 "platform_rev 0")
    count = cpu_nodes + len(gpus)
    for node in range(count):
        place = f"{topology}/nodes/{node}"
        gpu = gpus[node - cpu_nodes] if node >= cpu_nodes else None
        machine.file(f"{place}/gpu_id", gpu["gpu_id"] if gpu else 0)
        machine.file(f"{place}/name", gpu["name"] if gpu else "")
        machine.file(f"{place}/properties", *[
            f"{key} {value}" for key, value in {
                "cpu_cores_count": 0 if gpu else 32, "simd_count": 1216 if gpu else 0,
                "mem_banks_count": 1, "io_links_count": count - 1,
                **(gpu["properties"] if gpu else {"vendor_id": 0, "device_id": 0})}.items()])
        machine.file(f"{place}/mem_banks/0/properties", f"heap_type {1 if gpu else 0}",
                     f"size_in_bytes {gpu['vram'] if gpu else 512 * GIB}", "flags 0",
                     "width 8192", "mem_clk_max 1300")
        others = [other for other in range(count) if other != node]
        for index, other in enumerate(others):
            both = gpu is not None and other >= cpu_nodes
            home = [n if n < cpu_nodes else gpus[n - cpu_nodes]["numa"] for n in (node, other)]
            machine.file(f"{place}/io_links/{index}/properties",
                         f"type {11 if both else 2}", "version_major 0", "version_minor 0",
                         f"node_from {node}", f"node_to {other}",
                         f"weight {15 if both else 20 if home[0] == home[1] else 52}",
                         "min_latency 0", "max_latency 0",
                         f"min_bandwidth {64000 if both else 0}",
                         f"max_bandwidth {64000 if both else 64000}",
                         "recommended_transfer_size 0", "flags 1")


def mi300x_8():
    machine = Machine("8 MI300X with XGMI between all pairs, a NIC beside each, two NUMA nodes")
    machine.cpus(nodes=2, cores=16, threads=2, gib=2048)
    gpus = []
    for index, bus in enumerate((0x00, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0)):
        numa = index // 4
        (gpu_steps, gpu_bus), (nic_steps, nic_bus) = machine.switch(bus, numa)
        address = f"0000:{gpu_bus:02x}:00.0"
        folder = machine.pci(*gpu_steps, address, ids="1002:74a1", sub="1002:74a1", kind="120000",
                             numa=numa)
        machine.driver(folder, "amdgpu")
        vram = 206141652992
        machine.files(folder, mem_info_vram_total=vram, mem_info_vram_used=(index + 1) * GIB,
                      gpu_busy_percent=10 * index, mem_busy_percent=index, pcie_replay_count=0,
                      unique_id=f"{0x6b1c0e2f5a3d4410 + index:x}")
        machine.file(f"{folder}/ras/umc_err_count", "ue: 0", f"ce: {index}")
        machine.file(f"{folder}/ras/gfx_err_count", "ue: 0", "ce: 0")
        machine.hwmon(folder, "amdgpu", temp2_input=(41 + index) * 1000, temp2_label="junction",
                      temp3_input=(35 + index) * 1000, temp3_label="mem",
                      power1_input=(130 + index) * 1000000, power1_cap=750000000,
                      freq1_input=2100000000, freq1_label="sclk", freq2_input=1300000000,
                      freq2_label="mclk")
        machine.folder(f"{folder}/drm/renderD{128 + index}")
        machine.dev(f"dri/renderD{128 + index}")
        nic = machine.pci(*nic_steps, f"0000:{nic_bus:02x}:00.0", ids="15b3:1021", kind="020700",
                          numa=numa)
        machine.infiniband(nic, f"mlx5_{index}", "400 Gb/sec (4X NDR)")
        machine.net(nic, f"ib{index}", 400000)
        gpus.append({"gpu_id": 28851 + 1009 * index, "name": "aqua_vanjaram", "vram": vram,
                     "numa": numa,
                     "properties": {"gfx_target_version": 90402, "vendor_id": 4098,
                                    "device_id": 0x74a1, "location_id": gpu_bus << 8, "domain": 0,
                                    "drm_render_minor": 128 + index, "hive_id": 8123456789012345678,
                                    "max_engine_clk_fcompute": 2100, "local_mem_size": 0,
                                    "fw_version": 153, "capability": 746603136,
                                    "unique_id": 0x6b1c0e2f5a3d4410 + index, "num_xcc": 8}})
    machine.dev("kfd")
    machine.file("sys/module/amdgpu/version", "6.10.5")
    kfd(machine, 2, gpus)
    return machine


def h100_ib():
    machine = Machine("8 H100 by PCI alone; 11 InfiniBand devices, one of them a bond of two ports")
    machine.cpus(nodes=2, cores=16, threads=2, gib=2048)
    number = 0
    for index, bus in enumerate((0x10, 0x30, 0x48, 0x58, 0x90, 0xb0, 0xc8, 0xd8)):
        numa = index // 4
        (gpu_steps, gpu_bus), (nic_steps, nic_bus) = machine.switch(bus, numa)
        gpu = machine.pci(*gpu_steps, f"0000:{gpu_bus:02x}:00.0", ids="10de:2330", kind="030200",
                          numa=numa)
        machine.driver(gpu, "nvidia")
        nic = machine.pci(*nic_steps, f"0000:{nic_bus:02x}:00.0", ids="15b3:1021", kind="020700",
                          numa=numa)
        if index == 4:
            number += 1  # the bond took mlx5_4's place
        machine.infiniband(nic, f"mlx5_{number}", "400 Gb/sec (4X NDR)", up=index != 6)
        machine.net(nic, f"ibp{index}", 400000 if index != 6 else -1, up=index != 6)
        number += 1
    root = "pci0000:70"
    machine.pci(root, "0000:70:01.0", ids="8086:352a", gen=4)
    ports = [machine.pci(root, "0000:70:01.0", f"0000:71:00.{i}", ids="15b3:101f", kind="020000",
                         gen=4) for i in (0, 1)]
    for i, port in enumerate(ports):
        machine.net(port, f"enp113s0f{i}", 100000, address="10:70:fd:00:00:10")
        machine.link(f"{port}/net/enp113s0f{i}/master", "sys/devices/virtual/net/bond0")
    bond = "sys/devices/virtual/net/bond0"
    machine.files(bond, operstate="up", carrier=1, speed=200000, address="10:70:fd:00:00:10",
                  mtu=9000, type=1)
    machine.files(f"{bond}/bonding", slaves="enp113s0f0 enp113s0f1", mode="802.3ad 4")
    machine.link("sys/class/net/bond0", bond)
    machine.infiniband(ports[0], "mlx5_bond_0", "100 Gb/sec (4X EDR)", layer="Ethernet")
    for i, bus in enumerate((0x78, 0xf0)):
        root = f"pci0000:{bus:02x}"
        machine.pci(root, f"0000:{bus:02x}:01.0", ids="8086:352a", numa=i, gen=4)
        nic = machine.pci(root, f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0",
                          ids="15b3:101b", kind="020700", numa=i, gen=4)
        machine.infiniband(nic, f"mlx5_{number}", "200 Gb/sec (4X HDR)")
        machine.net(nic, f"ibs{i}", 200000)
        number += 1
    lo = "sys/devices/virtual/net/lo"
    machine.files(lo, operstate="unknown", address="00:00:00:00:00:00", mtu=65536, type=772)
    machine.link("sys/class/net/lo", lo)
    return machine


def gaudis(machine, buses, modules):
    """Half of them on the first NUMA node, half on the second."""
    for index, bus in enumerate(buses):
        numa = index * 2 // len(buses)
        root, port = f"pci0000:{bus:02x}", f"0000:{bus:02x}:02.0"
        machine.pci(root, port, ids="8086:352a", numa=numa, gen=4)
        folder = machine.pci(root, port, f"0000:{bus + 1:02x}:00.0", ids="1da3:1020",
                             sub="1da3:1020", kind="120000", numa=numa, gen=4)
        machine.driver(folder, "habanalabs")
        place = f"{folder}/accel/accel{index}"
        machine.link(f"{place}/device", folder)
        machine.link(f"sys/class/accel/accel{index}", place)
        machine.files(folder, device_type="GAUDI2", status="Operational", hard_reset_cnt=0,
                      max_power=600000,
                      pci_addr=f"0000:{bus + 1:02x}:00.0", module_id=modules[index],
                      clk_cur_freq_mhz=1650, driver_ver="1.17.0-28a11ca")
        machine.hwmon(folder, "hl_gaudi2", temp1_input=42000 + 1000 * index,
                      power1_input=100000000)
        machine.dev(f"accel/accel{index}")
        machine.dev(f"accel/accel_controlD{index}")


def gaudi_8():
    machine = Machine("8 Gaudi 2 behind the kernel's accel class, two NUMA nodes")
    machine.cpus(nodes=2, cores=16, threads=2, gib=1024)
    gaudis(machine, (0x10, 0x18, 0x30, 0x38, 0x90, 0x98, 0xb0, 0xb8), (5, 4, 7, 6, 2, 3, 0, 1))
    return machine


def gaudi_2():
    machine = Machine("2 Gaudi 2 on two sockets of one core each: the least that has near cores")
    machine.cpus(nodes=2, cores=1, threads=1, gib=64)
    gaudis(machine, (0x10, 0x90), (0, 1))
    return machine


def intel_2():
    machine = Machine("An integrated GPU, a Max 1550 of two tiles (xe), a Flex 170 (i915)")
    machine.cpus(nodes=1, cores=8, threads=2, gib=128)
    shown = (("0000:00:02.0", ["pci0000:00"], "8086:a780", "i915"),
             ("0000:4d:00.0", ["pci0000:4a", "0000:4a:02.0", "0000:4b:00.0", "0000:4c:01.0"],
              "8086:0bd5", "xe"),
             ("0000:5c:00.0", ["pci0000:59", "0000:59:02.0", "0000:5a:00.0", "0000:5b:01.0"],
              "8086:56c0", "i915"))
    for index, (address, above, ids, driver) in enumerate(shown):
        for depth in range(2, len(above) + 1):
            machine.pci(*above[:depth], ids="8086:352a", gen=4, numa=-1)
        folder = machine.pci(*above, address, ids=ids, kind="038000" if index else "030000", gen=4,
                             numa=-1)
        machine.driver(folder, driver)
        card = f"{folder}/drm/card{index}"
        machine.link(f"{card}/device", folder)
        machine.link(f"sys/class/drm/card{index}", card)
        machine.folder(f"{folder}/drm/renderD{128 + index}")
        machine.link(f"sys/class/drm/renderD{128 + index}", f"{folder}/drm/renderD{128 + index}")
        machine.dev(f"dri/card{index}")
        machine.dev(f"dri/renderD{128 + index}")
    xe = "sys/devices/pci0000:4a/0000:4a:02.0/0000:4b:00.0/0000:4c:01.0/0000:4d:00.0"
    for tile in (0, 1):
        machine.file(f"{xe}/tile{tile}/physical_vram_size_bytes", 64 * GIB)
        machine.file(f"{xe}/tile{tile}/gt{tile}/freq0/act_freq", 1600)
    machine.hwmon(xe, "xe", temp2_input=48000, temp3_input=52000, energy1_input=123000000,
                  power1_max=600000000)
    flex = "sys/devices/pci0000:59/0000:59:02.0/0000:5a:00.0/0000:5b:01.0/0000:5c:00.0"
    machine.file(f"{flex}/drm/card2/lmem_total_bytes", 16 * GIB - 256 * (1 << 20))
    machine.file(f"{flex}/drm/card2/gt_act_freq_mhz", 2050)
    machine.hwmon(flex, "i915", power1_max=150000000, energy1_input=456000000)
    machine.folder("sys/class/drm/card1-DP-1")
    return machine


def tpu_v5e_4():
    machine = Machine("A cloud machine with 4 TPU v5e chips behind vfio, a gVNIC and an NVMe disk")
    machine.cpus(nodes=1, cores=8, threads=2, gib=192)
    for slot, ids, kind in ((3, "1ae0:0042", "020000"), (4, "1ae0:001f", "010802")):
        folder = machine.pci("pci0000:00", f"0000:00:{slot:02x}.0", ids=ids, kind=kind, numa=-1)
        if slot == 3:
            machine.net(folder, "ens3", 100000)
    for index in range(4):
        folder = machine.pci("pci0000:00", f"0000:00:{5 + index:02x}.0", ids="1ae0:0063",
                             sub="1ae0:00ce", kind="120000", numa=-1)
        machine.driver(folder, "vfio-pci")
        machine.link(f"{folder}/iommu_group", f"sys/kernel/iommu_groups/{index}")
        machine.folder(f"sys/kernel/iommu_groups/{index}")
        machine.dev(f"vfio/{index}")
    machine.dev("vfio/vfio")
    return machine


def tpu_v4_4():
    machine = Machine("A cloud machine with 4 TPU v4 chips behind Google's driver, two NUMA nodes")
    machine.cpus(nodes=2, cores=4, threads=2, gib=400)
    for index, bus in enumerate((0x04, 0x05, 0x84, 0x85)):
        root, port = f"pci0000:{bus & 0x80:02x}", f"0000:{bus & 0x80:02x}:{bus & 7:02x}.0"
        numa = index // 2
        machine.pci(root, port, ids="8086:2030", gen=3, numa=numa)
        folder = machine.pci(root, port, f"0000:{bus:02x}:00.0", ids="1ae0:005e", sub="1ae0:0000",
                             kind="120000", gen=3, numa=numa)
        machine.link(f"{folder}/accel/accel{index}/device", folder)
        machine.link(f"sys/class/accel/accel{index}", f"{folder}/accel/accel{index}")
        machine.dev(f"accel{index}")
    return machine


def laptop():
    machine = Machine("A laptop without accelerators: an integrated GPU, a wired and a radio NIC")
    machine.cpus(nodes=1, cores=4, threads=2, gib=16)
    root = "pci0000:00"
    gpu = machine.pci(root, "0000:00:02.0", ids="8086:46a6", kind="030000", numa=-1, gen=1, lanes=1)
    machine.driver(gpu, "i915")
    machine.link(f"{gpu}/drm/card0/device", gpu)
    machine.link("sys/class/drm/card0", f"{gpu}/drm/card0")
    for device in ("1c.0", "1d.0"):
        machine.pci(root, f"0000:00:{device}", ids="8086:51b8", numa=-1, gen=3, lanes=1)
    wired = machine.pci(root, "0000:00:1c.0", "0000:01:00.0", ids="10ec:8168", kind="020000",
                        numa=-1, gen=1, lanes=1)
    machine.net(wired, "enp1s0", -1, up=False)
    radio = machine.pci(root, "0000:00:1d.0", "0000:02:00.0", ids="8086:2723", kind="028000",
                        numa=-1, gen=2, lanes=1)
    machine.net(radio, "wlp2s0", -1)
    machine.folder("sys/class/accel")
    return machine


def main():
    """With --check, exits with 1 if a file differs from what would be written."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for make in (mi300x_8, h100_ib, gaudi_8, gaudi_2, intel_2, tpu_v5e_4, tpu_v4_4, laptop):
        name, text = make().write(make.__name__)
        path = HERE / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    print("stale:" if check else "written:", " ".join(stale) or "none")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
