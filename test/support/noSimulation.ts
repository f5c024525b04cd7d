import type { SimulationPorts } from '../../src/config/submit/simulation.ts';

const none = (): Promise<never> => Promise.reject(new Error('no simulated world reads anything'));

/** Ports of submissions whose worlds take nothing from elsewhere. */
export const NO_SIMULATION: SimulationPorts = {
  listTools: none,
  tables: none,
  queryRows: none,
  run: none,
  recordings: none,
  facts: none,
  query: none,
};
