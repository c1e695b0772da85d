//! TUN device and UDP socket with segmentation offload, and the threads that pump packets between them.
