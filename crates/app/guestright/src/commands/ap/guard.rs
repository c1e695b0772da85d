//! The firewall on a thread of its own: it runs other programs and must not hold up the loop.

use guestright_firewall::{Class, Firewall, FirewallError, MacAddress, Traffic};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::access_point::Address;
use guestright_units::Bytes;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What the firewall is asked to do.
#[derive(Debug)]
pub(super) enum Order {
    Open(Address, ServiceClass),
    Reclassify(Address, ServiceClass),
    Close(Address),
    Read,
    Stop,
}

/// What it has done.
#[derive(Debug)]
pub(super) enum Done {
    /// What each visitor has used since it was opened, and what was dropped, in packets.
    Read(Vec<(Address, Bytes)>, BTreeMap<String, u64>),
    /// A visitor's packets pass.
    Opened(Address),
    /// A visitor is closed; this is what it had used.
    Closed(Address, Bytes),
    /// An order failed.
    Failed(String),
}

/// Starts the thread; answers go to `done`.
pub(super) fn start(
    mut firewall: Firewall,
    done: impl Fn(Done) + Send + 'static,
) -> (mpsc::Sender<Order>, JoinHandle<Result<(), FirewallError>>) {
    let (orders, waiting) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        while let Ok(order) = waiting.recv() {
            if matches!(order, Order::Stop) {
                break;
            }
            match carry_out(&mut firewall, &order) {
                Ok(Some(answer)) => done(answer),
                Ok(None) => {}
                Err(error) => {
                    done(Done::Failed(error.to_string()));
                    if let Order::Close(address) = order {
                        done(Done::Closed(address, Bytes(0)));
                    }
                }
            }
        }
        firewall.down()
    });
    (orders, thread)
}

fn carry_out(firewall: &mut Firewall, order: &Order) -> Result<Option<Done>, FirewallError> {
    match order {
        Order::Open(address, class) => {
            firewall.grant(MacAddress::new(address.mac)?, address.ip, firewall_class(*class))?;
            Ok(Some(Done::Opened(*address)))
        }
        Order::Reclassify(address, class) => {
            firewall.set_class(address.ip, firewall_class(*class))?;
            Ok(None)
        }
        Order::Close(address) => {
            let used = firewall.close(MacAddress::new(address.mac)?, address.ip)?;
            Ok(Some(Done::Closed(*address, both_ways(used))))
        }
        Order::Read => {
            let used = firewall.traffic()?.into_iter();
            let used = used.map(|((mac, ip), used)| (Address { mac: mac.bytes(), ip }, both_ways(used)));
            Ok(Some(Done::Read(used.collect(), firewall.drops()?)))
        }
        Order::Stop => Ok(None),
    }
}

fn both_ways(traffic: Traffic) -> Bytes {
    Bytes(traffic.up.saturating_add(traffic.down))
}

fn firewall_class(class: ServiceClass) -> Class {
    match class {
        ServiceClass::Lowest => Class::Lowest,
        ServiceClass::Low => Class::Low,
        ServiceClass::Middle => Class::Middle,
        ServiceClass::High => Class::High,
        ServiceClass::Own => Class::Own,
    }
}
