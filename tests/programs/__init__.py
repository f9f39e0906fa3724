"""Programs that use the library as services do; tests/test_library_services.py runs them."""
