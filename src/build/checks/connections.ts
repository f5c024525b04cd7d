/**
 * What may open connections. Everything that leaves the machine goes through `src/net`, which knows proxies and
 * authorities, so other files need a reason.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { sourceFiles } from './sourceFiles.ts';

/** Files and folders that open connections themselves, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/net/': 'it is the way out',
  'src/model/http/': 'model calls have a dispatcher of their own, which connects with src/net',
  'src/client/nodeTransport.ts': 'to servers, with an agent of src/net',
  'src/client/subscribe.ts': 'to servers, with an agent of src/net',
  'src/kubernetes/access/connection.ts': 'to API servers, as the kubeconfig says, with agents of src/net',
  'src/kubernetes/access/podSocket.ts': 'to API servers, with the agent of connection.ts',
  'src/client/targets/login/clusterLogin.ts': 'to a port-forward on loopback',
  'src/protocol/transport.ts': 'for pages: the browser knows the proxies',
  'src/worker/session/': 'from a worker to its server, next to it or in the same cluster',
  'src/debug/childDebugger.ts': 'to a debugger on loopback',
  'src/tools/modules/': 'to processes of this machine',
  'src/tools/toolServer/': 'to the socket of the container of tools',
  'src/tools/sandbox/network/': 'the proxy of a sandbox, which chooses its way out by itself',
  'src/tools/builtins/': 'addresses are checked against private networks; their dispatchers know the proxies',
};
/** Functions of modules that connect. */
const FUNCTIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  http: new Set(['request', 'get']),
  https: new Set(['request', 'get']),
  http2: new Set(['connect']),
  net: new Set(['connect', 'createConnection']),
  tls: new Set(['connect']),
};
/** Packages that connect with what they export. */
const PACKAGES: Readonly<Record<string, ReadonlySet<string> | 'all'>> = {
  undici: 'all',
  openai: new Set(['default', 'OpenAI']),
  ws: new Set(['WebSocket', 'default']),
};
const GLOBALS: ReadonlySet<string> = new Set(['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']);

/** Returns each connection that is not allowed, and each exception that nothing needs, as `file:line: text`. */
export function strayConnections(root: string, allowed: Readonly<Record<string, string>> = ALLOWED): string[] {
  const needed = new Set<string>();
  const stray: string[] = [];
  for (const file of sourceFiles(path.join(root, 'src'))) {
    const place = path.relative(root, file).split(path.sep).join('/');
    for (const { line, what } of connectionsIn(file)) {
      const exception = Object.keys(allowed).find(
        (each) => place === each || (each.endsWith('/') && place.startsWith(each)),
      );
      if (exception !== undefined) needed.add(exception);
      else
        stray.push(
          `${place}:${line}: ${what} knows neither proxies nor authorities: use src/net/outboundRequest.ts, or ` +
            'give a reason in src/build/checks/connections.ts',
        );
    }
  }
  const unused = Object.keys(allowed).filter((each) => !needed.has(each));
  return [...stray, ...unused.map((each) => `src/build/checks/connections.ts:1: ${each} opens no connections`)];
}

interface OutboundUse {
  readonly line: number;
  readonly what: string;
}

function connectionsIn(file: string): OutboundUse[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const uses: OutboundUse[] = [];
  /** Local names of modules. */
  const modules = new Map<string, ReadonlySet<string>>();
  const add = (node: ts.Node, what: string): void => {
    uses.push({ what, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1 });
  };
  const addImport = ({ moduleSpecifier, importClause }: ts.ImportDeclaration): void => {
    if (importClause === undefined || importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return;
    const from = ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : '';
    const connecting = FUNCTIONS[from.replace(/^node:/, '')];
    const exported = PACKAGES[from];
    const bindings = importClause.namedBindings;
    if (connecting !== undefined) {
      if (importClause.name !== undefined) modules.set(importClause.name.text, connecting);
      if (bindings !== undefined && ts.isNamespaceImport(bindings)) modules.set(bindings.name.text, connecting);
    }
    const names = [
      ...(importClause.name === undefined ? [] : ['default']),
      ...(bindings === undefined || ts.isNamespaceImport(bindings)
        ? []
        : bindings.elements
            .filter(({ isTypeOnly }) => !isTypeOnly)
            .map(({ name, propertyName }) => (propertyName ?? name).text)),
    ];
    for (const name of names)
      if (connecting?.has(name) === true || exported === 'all' || exported?.has(name) === true)
        add(moduleSpecifier, `${name} of ${from}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isImportDeclaration(node)) {
      addImport(node);
      return;
    }
    if (ts.isCallExpression(node)) {
      const [argument] = node.arguments;
      if (
        node.expression.kind === ts.SyntaxKind.ImportKeyword &&
        argument !== undefined &&
        ts.isStringLiteral(argument)
      ) {
        if (PACKAGES[argument.text] !== undefined) add(node, `import of ${argument.text}`);
      }
    }
    if (ts.isPropertyAccessExpression(node)) {
      const { text: name } = node.name;
      for (const { text } of modulesIn(node.expression))
        if (modules.get(text)?.has(name) === true || (text === 'globalThis' && GLOBALS.has(name)))
          add(node, `${text}.${name}`);
    }
    if (ts.isIdentifier(node) && GLOBALS.has(node.text) && isValue(node) && !isDeclared(node)) add(node, node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

/** Returns the names that an expression may stand for: `http` and `https` in `(plain ? http : https).request`. */
function modulesIn(node: ts.Expression): ts.Identifier[] {
  if (ts.isIdentifier(node)) return [node];
  if (ts.isParenthesizedExpression(node)) return modulesIn(node.expression);
  return ts.isConditionalExpression(node) ? [...modulesIn(node.whenTrue), ...modulesIn(node.whenFalse)] : [];
}

/** Whether a name is a value here, and not the name of a property, a parameter, or a variable. */
function isValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent) || ts.isParameter(parent) || ts.isVariableDeclaration(parent))
    return parent.initializer === node;
  return !(
    ts.isMethodDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isGetAccessorDeclaration(parent) ||
    ts.isFunctionDeclaration(parent) ||
    ts.isClassDeclaration(parent)
  );
}

/** Whether a name is one of the file's own, which its import or its declaration accounts for. */
function isDeclared(node: ts.Identifier): boolean {
  for (let scope: ts.Node = node.parent; ; scope = scope.parent) {
    if (declares(scope, node.text)) return true;
    if (ts.isSourceFile(scope)) return false;
  }
}

function declares(scope: ts.Node, name: string): boolean {
  const isNamed = ({ name: bound }: { readonly name: ts.BindingName }): boolean =>
    ts.isIdentifier(bound)
      ? bound.text === name
      : bound.elements.some((element) => ts.isBindingElement(element) && isNamed(element));
  if (ts.isFunctionLike(scope) && scope.parameters.some(isNamed)) return true;
  if (!ts.isBlock(scope) && !ts.isSourceFile(scope)) return false;
  return scope.statements.some((statement) => {
    if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.some(isNamed);
    if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return statement.name?.text === name;
    if (!ts.isImportDeclaration(statement)) return false;
    const { namedBindings, name: whole } = statement.importClause ?? {};
    return (
      whole?.text === name ||
      (namedBindings !== undefined &&
        (ts.isNamespaceImport(namedBindings) ? [namedBindings] : namedBindings.elements).some(isNamed))
    );
  });
}
