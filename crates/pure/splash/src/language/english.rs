use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    title: "Guest Wi-Fi",
    shares: ["", " shares this Wi-Fi with people who pass by."],
    no_company: "No company is behind it. Households let each other's people use their Wi-Fi and keep account of it with a free \
                 program, Guestright.",

    stranger_heading: "You are not online yet",
    stranger: "Members of other households that share their Wi-Fi are served here. Your device has not shown that it is one of \
               theirs. If it is, switch on your profile or your WireGuard tunnel.",
    welcome_heading: "You would be served",
    welcome: "Switch on your profile or your WireGuard tunnel, and you are online.",
    served_heading: "You are online",
    refused_heading: "You are not served at the moment",
    home_away_heading: "Your home does not answer",
    home_away: "This Wi-Fi has asked your household whether you are one of its members, and got no answer. Is the router at your \
                home switched on and connected?",
    undecided_heading: "Nobody can decide at the moment",
    undecided: "The part of this household that decides whom to serve does not answer. Please try again in some minutes.",
    closed_heading: "Closed for guests",
    closed: "This household has switched off sharing for the time being.",

    class_lowest: "Whenever the line is busy, others go first.",
    class_low: "Whenever the line is busy, you get a small share of it.",
    class_middle: "Whenever the line is busy, you get a fair share of it.",
    class_high: "Whenever the line is busy, you get a large share of it.",
    class_own: "You go first: you are a member of this household.",
    volume_left: ["Left for now: ", ""],

    why: "Why?",
    why_own: "You are a member of this household.",
    why_owed: "Your household has served people of this household, which owes yours for it.",
    why_chain: "Your household has served others, and a chain of debts leads from here to it.",
    why_sponsored: "This household has set something aside for yours.",
    why_allowance: "It is part of what this household gives away each day to those it owes nothing.",
    why_everybody: "This household serves everybody for now.",
    not_allowance: "This household owes yours nothing, and what it gives away is used up for now. Some of it comes back each \
                    hour.",
    not_unpaid: "This Wi-Fi carried something for you, and your side did not sign for it.",
    not_busy: "There is no room for another guest. Please try again soon.",
    not_certificate: "The certificate with which your household vouches for you has ended. Your household can renew it.",
    not_revoked: "Your household no longer vouches for this device.",
    not_other: "This is the answer that was given:",
    chain: "The debts that count, from here to your household:",
    no_chain: "No chain of debts leads from here to your household.",
    debt: ["", " owes ", " ", "."],
    no_debts: "Your household earns service by serving others at its own Wi-Fi.",

    trial: "You may try it without being a member. Once it is used up it ends by itself.",
    trial_button: ["Try ", ""],
    trial_heading: "You are online, to try it",
    trial_running: "After that you need to be a member.",
    minutes_left: ["Minutes left: ", ""],
    trial_used_up: "You have used up what can be tried.",
    again: "Check again",

    member_heading: "How to become a member",
    member_steps: [
        "Your household shares its own Wi-Fi with the free program Guestright. There is nothing to pay, and no account.",
        "There it makes a profile for your phone.",
        "With that profile your phone is served here, and by all other households that take part.",
    ],
    member_page: ["Read more, once you are online: ", ""],
    terms_heading: "Terms of this household",
    contact_heading: "Contact",
    privacy_heading: "What this household can see",
    privacy: "That your device is here, where its packets go, and how much it uses. Not what is in pages with https or in your \
              tunnel: nothing that is encrypted is opened. This page leaves nothing on your device.",
    terms_page: "Terms, and what is kept of you",
    terms_usual: [
        "This household shares its Wi-Fi of its own accord. It promises neither speed nor time, and may refuse or end service at any \
         moment, to anybody.",
        "Who is served, and how well, is decided by what households have given each other, and by nothing else that is known of you.",
    ],
    kept_heading: "What is kept of you",
    kept_receipts: "If you are a member of another household: receipts that your side signs. They say when, for which household, \
                    with which key and how much was carried. They are accounts, and both households keep them. They do not \
                    say what you did.",
    kept_no_addresses: "It is not kept who had which address here.",
    kept_addresses: "So that it can answer if somebody misuses its line, this household keeps who had which address here: the address, \
                     your device’s hardware address, your household and key where they are known, when you came and went, and how \
                     much was carried. Not what you did. It is removed by itself; you may ask this household what it has of you, and \
                     to remove it earlier.",
    kept_hours: ["Hours from when you leave until it is removed: ", ""],
    back: "Back",
    languages: "Languages",

    decimal_mark: ".",
    units: ["kB", "MB", "GB", "TB"],
};
