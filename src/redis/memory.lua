-- Reads the memory of the node that has simfleet's keys; in a cluster, INFO alone would ask any node.
--
-- KEYS  1 any key of simfleet
-- Returns the section `memory` of INFO
-- Atomic: reads only.

return redis.call('INFO', 'memory')
