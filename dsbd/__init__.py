"""Dynamic-width speculative beam decoding (Qin et al., AAAI 2025, arXiv 2409.16560)."""
