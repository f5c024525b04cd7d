/** The used part of VS Code's MCP API, which is newer (1.101) than the API version we compile against. */
import * as vscode from 'vscode';

/** `vscode.McpStdioServerDefinition`. */
interface StdioDefinition {
  readonly label: string;
  env: Record<string, string | number | null>;
}

interface DefinitionProvider {
  readonly onDidChangeMcpServerDefinitions: vscode.Event<void>;
  provideMcpServerDefinitions(): vscode.ProviderResult<StdioDefinition[]>;
  /** Called right before a server starts. */
  resolveMcpServerDefinition(definition: StdioDefinition): vscode.ProviderResult<StdioDefinition>;
}

interface McpApi {
  register(id: string, provider: DefinitionProvider): vscode.Disposable;
  definition(
    label: string,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    version: string,
  ): StdioDefinition;
}

interface NewerApi {
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string | number | null>,
    version: string,
  ) => StdioDefinition;
  readonly lm?: { registerMcpServerDefinitionProvider?(id: string, provider: DefinitionProvider): vscode.Disposable };
}

/** Returns undefined if this editor does not support MCP servers from extensions. */
export function mcpApi(): McpApi | undefined {
  // In older versions these members do not exist.
  const { McpStdioServerDefinition: Definition, lm }: NewerApi = vscode as unknown as NewerApi;
  if (Definition === undefined || lm?.registerMcpServerDefinitionProvider === undefined) return undefined;
  return {
    register: (id, provider) =>
      lm.registerMcpServerDefinitionProvider?.(id, provider) ?? new vscode.Disposable(() => undefined),
    definition: (label, command, args, env, version) => new Definition(label, command, [...args], { ...env }, version),
  };
}
