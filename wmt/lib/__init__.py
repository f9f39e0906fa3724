"""What the drivers share: research data, gates, stored runs, published numbers. Nothing here is run by itself."""
