/** The part of VS Code's API for MCP servers that is used. It came with 1.101; what is compiled against is older. */
import * as vscode from 'vscode';

/** `vscode.McpStdioServerDefinition`. */
export interface StdioDefinition {
  readonly label: string;
  env: Record<string, string | number | null>;
}

export interface DefinitionProvider {
  readonly onDidChangeMcpServerDefinitions: vscode.Event<void>;
  provideMcpServerDefinitions(): vscode.ProviderResult<StdioDefinition[]>;
  /** Called right before a server is started. */
  resolveMcpServerDefinition(definition: StdioDefinition): vscode.ProviderResult<StdioDefinition>;
}

export interface McpApi {
  register(id: string, provider: DefinitionProvider): vscode.Disposable;
  definition(
    label: string,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    version: string,
  ): StdioDefinition;
}

interface Newer {
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string | number | null>,
    version: string,
  ) => StdioDefinition;
  readonly lm?: { registerMcpServerDefinitionProvider?(id: string, provider: DefinitionProvider): vscode.Disposable };
}

/** undefined: this editor knows no MCP servers of extensions. */
export function mcpApi(): McpApi | undefined {
  // every member is optional there
  const { McpStdioServerDefinition: Definition, lm }: Newer = vscode as unknown as Newer;
  if (Definition === undefined || lm?.registerMcpServerDefinitionProvider === undefined) return undefined;
  return {
    register: (id, provider) =>
      lm.registerMcpServerDefinitionProvider?.(id, provider) ?? new vscode.Disposable(() => undefined),
    definition: (label, command, args, env, version) => new Definition(label, command, [...args], { ...env }, version),
  };
}
