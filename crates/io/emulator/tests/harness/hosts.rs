//! Two hosts that have nothing but each other, over a device each.

use guestright_emulator::Device;
use guestright_netns::World;

/// Makes both, each with its name, its address and the other's; gives their devices, which an emulator joins.
pub(crate) fn join(world: &mut World, hosts: [(&str, &str, &str); 2]) -> [Device; 2] {
    hosts.map(|(host, own, other)| {
        world.add_host(host).unwrap();
        let _ = world.sysctl(host, "net.ipv6.conf.all.disable_ipv6", "1");
        let device = world.within(host, || Device::open("path0")).unwrap().unwrap();
        world.address(host, "path0", &format!("{own}/32")).unwrap();
        world.run(host, "ip", &["link", "set", "path0", "up", "txqueuelen", "10000"]).unwrap();
        world.run(host, "ip", &["route", "add", other, "dev", "path0"]).unwrap();
        device
    })
}
