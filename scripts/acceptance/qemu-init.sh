#!/bin/sh
# The first program in the machine with Debian's stock kernel, run by busybox from the initial memory file system.
# Lays a memory file system over the host's root directory, which is read-only, and goes on in guest.sh. STAGE,
# MACHINE and MODULES come from the kernel's command line; /modules lists what to load, in order.
export PATH=/bin
mkdir -p /proc /sys /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# The console has shown how far the kernel came; from here on it is for the steps.
echo 4 >/proc/sys/kernel/printk
while read -r module; do
    insmod "/lib/$module" || echo "could not load $module"
done </modules
mkdir -p /lower /layers /new
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /lower || echo "no root directory"
mount -t tmpfs layers /layers && mkdir /layers/upper /layers/work
mount -t overlay -o lowerdir=/lower,upperdir=/layers/upper,workdir=/layers/work overlay /new || echo "no overlay"
# What the guest has to say at length goes to `out`, and nowhere else on the host.
mkdir -p /new/guest
mount -t tmpfs guest /new/guest && mkdir /new/guest/out /new/guest/work
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out /new/guest/out || echo "no way out"
mkdir -p /new/proc /new/sys /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
mount --move /dev /new/dev
mount -t tmpfs run /new/run
exec switch_root /new /bin/bash "$STAGE/guest.sh"
