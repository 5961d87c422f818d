"""Speech synthesis: VoxCPM2 and Magpie, asked, timed and taken apart."""
