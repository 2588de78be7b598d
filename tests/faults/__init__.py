"""What becomes of calls, processes and files when a part fails. Each test is named after what the owner sees."""
