"""The soak test: sends mixed calls for a long time and checks that no resource use grows."""
