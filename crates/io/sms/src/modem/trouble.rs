//! What modems and networks complain about (3GPP TS 27.005 section 3.2.5, TS 27.007 section 9.2).

/// The words for a `+CMS ERROR` number.
pub(super) fn message_error(number: u32) -> &'static str {
    match number {
        1 => "the number is not assigned",
        8 => "the operator bars messages for this SIM",
        10 => "the call is barred",
        21 => "the network rejects the message",
        27 => "the destination is out of service",
        28 => "the subscriber is unknown",
        30 => "the subscriber is unknown in the network",
        38 => "the network is out of order",
        41 => "a temporary failure of the network",
        42 => "the network is congested",
        47 => "the network has no resources left",
        50 => "the SIM has no subscription for messages",
        69 => "the network does not offer messages",
        300 => "the modem failed",
        302 => "the modem does not allow it",
        303 => "the modem does not support it",
        304 => "the modem does not understand the PDU",
        310 => "there is no SIM",
        311 => "the SIM wants its PIN",
        313 => "the SIM failed",
        314 => "the SIM is busy",
        315 => "the SIM is of a wrong kind",
        316 => "the SIM wants its PUK",
        320 => "the memory failed",
        322 => "the memory is full",
        330 => "the number of the message centre is unknown",
        331 => "there is no network",
        332 => "the network did not answer",
        _ => "an unknown failure",
    }
}

/// Whether the same message may pass a little later. Only failures before the network has taken it.
pub(super) fn is_temporary(number: u32) -> bool {
    matches!(number, 38 | 41 | 42 | 47 | 314 | 331)
}

/// The words for a `+CME ERROR` number.
pub(super) fn equipment_error(number: u32) -> &'static str {
    match number {
        3 => "the modem does not allow it",
        4 => "the modem does not support it",
        10 => "there is no SIM",
        11 => "the SIM wants its PIN",
        12 => "the SIM wants its PUK",
        13 => "the SIM failed",
        14 => "the SIM is busy",
        15 => "the SIM is of a wrong kind",
        16 => "the PIN is wrong",
        20 => "the memory is full",
        30 => "there is no network",
        _ => "an unknown failure",
    }
}
