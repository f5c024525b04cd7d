/** Names shared by the manifest and the code. */

/** Webview type of the pages, stored to restore them after a window reload. */
export const PAGE_VIEW_TYPE = 'rollout.page';
/** Webview type of the Try Tool panels. */
export const TRY_VIEW_TYPE = 'rollout.try';
/** Webview type of the World pages. */
export const WORLD_VIEW_TYPE = 'rollout.world';
/** Scheme of read-only documents with parts of published scenarios. */
export const SCENARIO_SCHEME = 'rollout-scenario';
/** Scheme of read-only documents with the prompts of simulated worlds. */
export const PROMPT_SCHEME = 'rollout-prompt';
/** Scheme of read-only documents with logs and events of pods. */
export const POD_SCHEME = 'rollout-pod';
/** Scheme of read-only documents with objects of a cluster before and after an installation. */
export const DIFF_SCHEME = 'rollout-diff';
/** Scheme of read-only documents with previews of exports. */
export const EXPORT_SCHEME = 'rollout-export';
/** ID of the provider that offers the Rollout Studio MCP server to coding agents (VS Code 1.101 and later). */
export const MCP_PROVIDER = 'rollout.mcp';
/** The type in debug configurations. */
export const DEBUG_TYPE = 'rollout';
/** Language ID of trajectory documents. */
export const TRAJECTORY_LANGUAGE = 'rollout-trajectory';

/** IDs of the activity bar views. */
export const VIEW_IDS = {
  batches: 'rollout.batches',
  agents: 'rollout.agents',
  worlds: 'rollout.worlds',
  targets: 'rollout.targets',
} as const;

/** Context keys of the views. */
export const VIEW_KEYS = {
  /** Whether the workspace has a batch file. */
  batchFiles: 'rollout.hasBatchFiles',
  /** Whether the search found no such file. Until then, the views do not say that there is none. */
  noBatchFiles: 'rollout.hasNoBatchFiles',
  noAgentFiles: 'rollout.hasNoAgentFiles',
  noWorldFiles: 'rollout.hasNoWorldFiles',
  /** Whether the workspace has a world file. */
  worldFiles: 'rollout.hasWorldFiles',
  /** `ok`, `lost` or `stopped`. */
  server: 'rollout.serverState',
  /** Whether any target was added, a cluster target, or a URL target. */
  targets: 'rollout.hasTargets',
  clusters: 'rollout.hasClusters',
  addresses: 'rollout.hasAddresses',
} as const;
