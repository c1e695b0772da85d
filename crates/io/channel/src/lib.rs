//! Authenticated channels between the programs of one team, and message sockets on the visitors' link
