"""Loads that many machines share: what an engine such as Spark calls on its driver and in its tasks.

Nothing here knows an engine. A ``Job`` is begun by the driver and carried to the tasks. Each attempt of a
task loads into the job's stage and gives a receipt. The driver publishes those whose receipts it has.
"""
