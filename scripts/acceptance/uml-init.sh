#!/bin/bash
# The first program in the User Mode Linux machine. The host's root directory is here, read-only; this lays a
# memory file system over it and goes on in guest.sh. STAGE and OUT come from the kernel's command line.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
# Debian's modules for this kernel lie where modprobe does not look.
module_root=/usr/lib/uml/modules/$(uname -r)
insmod "$module_root/kernel/fs/overlayfs/overlay.ko"
mount -t tmpfs layers /mnt && mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root || echo "no overlay"
root=/mnt/root
mount -t proc proc $root/proc
mount -t sysfs sys $root/sys
mount -t devtmpfs dev $root/dev
# What the guest has to say at length goes to `out`, and nowhere else on the host.
mkdir -p $root/guest
mount -t tmpfs guest $root/guest && mkdir $root/guest/out $root/guest/work
mount -t hostfs -o "$OUT" out $root/guest/out
mount -t tmpfs run $root/run
export MODULES=/usr/lib/uml/modules
exec chroot $root /bin/bash "$STAGE/guest.sh"
