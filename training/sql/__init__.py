"""The bundled text-to-SQL task: a library database, questions about it and their SQL, all made from seeds."""
