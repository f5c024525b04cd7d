/** Names that the manifest and the code share. */

/** The kind of the pages' webview panels, as it is stored for a reload of the window. */
export const PAGE_VIEW_TYPE = 'rollout.page';
/** The kind of the panels that tools are tried in. */
export const TRY_VIEW_TYPE = 'rollout.try';
/** What offers our MCP server to coding agents (VS Code 1.101 and later). */
export const MCP_PROVIDER = 'rollout.mcp';
