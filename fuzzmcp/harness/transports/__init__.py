"""How client and fake server are joined."""
