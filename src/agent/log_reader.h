// Being written: LogReader answers the server's log reads from the workers' files.
