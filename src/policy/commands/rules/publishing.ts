import { hasOption, operandsOf } from "../arguments.ts";
import type { CommandClass } from "../command-classes.ts";
import type { ClassRule } from "./class-rule.ts";

interface Verbs {
  readonly class: CommandClass;
  readonly programs: RegExp;
  /** Matched against the operands, joined by spaces. */
  readonly verbs: RegExp;
  readonly effect: string;
}

const CHANGES_PACKAGE = "withdraws a package or changes how it is offered";
const MANAGES_OWNERS = "manages who may publish a package";

const TABLE: readonly Verbs[] = [
  {
    class: "publish",
    programs: /^(?:npm|pnpm|bun|lerna|changeset)$/,
    verbs: /^publish\b/,
    effect: "publishes a package",
  },
  {
    class: "publish",
    programs: /^(?:npm|pnpm|bun|lerna|changeset)$/,
    verbs: /^(?:unpublish|deprecate|dist-tag (?:add|rm))\b/,
    effect: CHANGES_PACKAGE,
  },
  {
    class: "publish",
    programs: /^(?:npm|pnpm|bun|lerna|changeset)$/,
    verbs: /^(?:owner|access)\b/,
    effect: MANAGES_OWNERS,
  },
  {
    class: "publish",
    programs: /^(?:npm|pnpm|bun|lerna|changeset)$/,
    verbs: /^(?:token|adduser)\b/,
    effect: "manages sign-ins of a package registry",
  },
  { class: "publish", programs: /^yarn$/, verbs: /^(?:npm )?publish\b/, effect: "publishes a package" },
  { class: "publish", programs: /^yarn$/, verbs: /^npm tag\b/, effect: CHANGES_PACKAGE },
  { class: "publish", programs: /^cargo$/, verbs: /^publish\b/, effect: "publishes a crate" },
  { class: "publish", programs: /^(?:cargo|gem)$/, verbs: /^yank\b/, effect: CHANGES_PACKAGE },
  { class: "publish", programs: /^(?:cargo|gem)$/, verbs: /^owner\b/, effect: MANAGES_OWNERS },
  { class: "publish", programs: /^(?:twine|anaconda)$/, verbs: /^upload\b/, effect: "publishes a package" },
  {
    class: "publish",
    programs: /^python[\d.]*$/,
    verbs: /^(?:twine upload|setup\.py .*\bupload)\b/,
    effect: "publishes a package",
  },
  {
    class: "publish",
    programs: /^(?:poetry|uv|flit|hatch|pdm|maturin|rye|vsce|ovsx|jsr|deno|dart|flutter)$/,
    verbs: /^(?:publish|upload|pub publish)\b/,
    effect: "publishes a package",
  },
  { class: "publish", programs: /^gem$/, verbs: /^push\b/, effect: "publishes a gem" },
  {
    class: "publish",
    programs: /^(?:mvn|mvnw)$/,
    verbs: /(?:^|\s)(?:deploy|release:perform)\b/,
    effect: "publishes an artifact",
  },
  {
    class: "publish",
    programs: /^(?:gradle|gradlew)$/,
    verbs: /(?:^|[\s:])publish(?!ToMavenLocal)\w*/,
    effect: "publishes an artifact",
  },
  {
    class: "publish",
    programs: /^(?:dotnet|nuget)$/,
    verbs: /^(?:nuget )?push\b/,
    effect: "publishes a package",
  },
  {
    class: "publish",
    programs: /^(?:dotnet|nuget)$/,
    verbs: /^(?:nuget )?delete\b/,
    effect: CHANGES_PACKAGE,
  },
  {
    class: "publish",
    programs: /^(?:semantic-release|goreleaser|release-it|np)$/,
    verbs: /^(?!(?:check|build|init)\b)/,
    effect: "publishes a release",
  },
  {
    class: "publish",
    programs: /^(?:docker|podman|helm|crane|skopeo|oras)$/,
    verbs: /^(?:push|copy)\b/,
    effect: "publishes an image or a chart",
  },
  {
    class: "publish",
    programs: /^(?:gh|glab)$/,
    verbs:
      /^(?:release (?:create|delete|upload|edit)|repo (?:delete|archive|rename|edit|create)|workflow (?:disable|enable)|gist create|issue delete|run delete|cache delete)\b/,
    effect: "changes something that others see on the code host",
  },
  {
    class: "publish",
    programs: /^(?:gh|glab)$/,
    verbs:
      /^(?:secret (?:set|delete|remove)|variable (?:set|delete)|ssh-key|gpg-key|auth (?:login|logout|setup-git|refresh))\b/,
    effect: "manages sign-ins, keys or secrets of a code host",
  },
  {
    class: "deploy",
    programs: /^(?:terraform|tofu|terragrunt|terramate)$/,
    verbs:
      /^(?:run-all )?(?:import|taint|untaint|state (?:rm|mv|push|replace-provider)|workspace delete|force-unlock)\b/,
    effect: "changes what is recorded about infrastructure",
  },
  {
    class: "deploy",
    programs: /^(?:terraform|tofu|terragrunt|terramate)$/,
    verbs: /^(?:run-all )?(?:apply|destroy)\b/,
    effect: "changes infrastructure",
  },
  {
    class: "deploy",
    programs: /^(?:pulumi|cdk|cdktf|sst|serverless|sls|copilot|amplify|eb|sam|chalice|zappa|nixops)$/,
    verbs: /^(?:up|update|destroy|deploy|remove|delete|terminate|refresh|cancel|undeploy)\b/,
    effect: "changes infrastructure",
  },
  {
    class: "deploy",
    programs: /^(?:kubectl|k|oc|k3s)$/,
    verbs:
      /^(?:delete|apply|create|replace|patch|scale|autoscale|drain|cordon|uncordon|edit|set|label|annotate|taint|run|expose|evict|rollout (?:restart|undo|pause|resume)|certificate|adm)\b/,
    effect: "changes a cluster",
  },
  {
    class: "deploy",
    programs: /^(?:kubectl|k|oc|k3s)$/,
    verbs: /^config (?:delete|unset|set)-?\w*\b/,
    effect: "changes how clusters are reached",
  },
  {
    class: "deploy",
    programs: /^(?:helm|helmfile|skaffold|argocd|flux|kustomize)$/,
    verbs:
      /^(?:install|upgrade|uninstall|delete|rollback|apply|sync|destroy|run|deploy|app (?:sync|delete|create|set|rollback)|reconcile|suspend|resume|bootstrap)\b/,
    effect: "changes a cluster",
  },
  {
    class: "deploy",
    programs: /^(?:kind|minikube|k3d|eksctl|kops)$/,
    verbs: /^(?:delete|upgrade|scale|drain)\b/,
    effect: "removes or changes a cluster",
  },
  {
    class: "deploy",
    programs: /^ansible(?:-playbook|-pull)?$/,
    verbs: /^/,
    effect: "changes the machines of an inventory",
  },
  {
    class: "deploy",
    programs:
      /^(?:vercel|now|netlify|fly|flyctl|railway|render|firebase|wrangler|surge|gh-pages|cap|kamal|dokku|heroku|cf|platform|shopify|eas|fastlane)$/,
    verbs:
      /^(?:deploy|publish|up|promote|rollback|destroy|apps?[: ]destroy|delete|remove|rm|--prod|releases|secret|pg:(?:reset|killall)|ps:(?:restart|scale|stop)|config:(?:set|unset)|submit|app deploy|theme push|hosting:disable|prod\w*)\b/,
    effect: "deploys, changes or removes an application",
  },
  {
    class: "deploy",
    programs: /^aws$/,
    verbs:
      /^(?:s3 (?:rm|rb|mv)|s3 sync .*|[\w-]+ (?:delete|terminate|stop|reboot|remove|deregister|disable|put|update|create|modify|run|revoke|detach|purge|start|attach|reset|restore)-[\w-]+|cloudformation deploy|lambda invoke|ssm send-command)/,
    effect: "changes cloud resources or runs something there",
  },
  {
    class: "deploy",
    programs: /^(?:gcloud|az|doctl|linode-cli|hcloud|oci|ibmcloud|scw|exo|vultr-cli|openstack)$/,
    verbs:
      /(?:^|\s)(?:delete|remove|destroy|deploy|create|update|stop|reset|restart|purge|terminate|rebuild|start|import|set-iam-policy|add-iam-policy-binding)\b/,
    effect: "changes cloud resources",
  },
  {
    class: "deploy",
    programs: /^(?:gsutil|s3cmd|mc|rclone|azcopy)$/,
    verbs: /^(?:rm|rb|del|delete|mv|move|purge|rsync -d|sync|remove|rmdirs?|cleanup|deletefile)\b/,
    effect: "removes or overwrites files in the cloud",
  },
  {
    class: "deploy",
    programs: /^vault$/,
    verbs: /^(?:kv )?(?:delete|destroy|put|write|operator|secrets|policy|token|lease)\b/,
    effect: "administers a secret store",
  },
];
const ANY_PROGRAM = new RegExp(TABLE.map(({ programs }) => programs.source).join("|"));
const VALUED =
  /^(?:-[nCcf]|-chdir|--(?:profile|region|namespace|context|kubeconfig|cluster|project|registry|prefix|dir|cwd|filter|repo|output|query|config|directory|subscription|resource-group|output-format))$/;
const REHEARSALS = /^(?:--dry-?run(?:=(?!none)\w*)?|--check|--noop|-h|--help|--list-tasks|--syntax-check)$/i;

const MAX_LINE_LENGTH = 1_000;

/** Changes that other people or running systems see. */
export const checkPublishing: ClassRule = ({ name, args }) => {
  if (!ANY_PROGRAM.test(name) || hasOption(args, REHEARSALS)) return undefined;
  const rows = TABLE.filter(({ programs }) => programs.test(name));
  const operands = operandsOf(args, VALUED).slice(0, 12);
  if (
    name === "gh" &&
    operands[0] === "api" &&
    args.some(
      (word, at) => /^(?:-X|--method)$/.test(args[at - 1] ?? "") && /^(?:DELETE|PUT|PATCH)$/i.test(word),
    )
  )
    return { class: "publish", effect: "changes something that others see on the code host" };
  const line = operands.join(" ").slice(0, MAX_LINE_LENGTH);
  for (const { class: found, verbs, effect } of rows) {
    if (!verbs.test(line) || (name === "aws" && /^s3 sync/.test(line) && !hasOption(args, /^--delete$/)))
      continue;
    return { class: found, effect };
  }
  const isProduction = /^(?:vercel|netlify)$/.test(name) && hasOption(args, /^--prod(?:uction)?$/);
  return isProduction ? { class: "deploy", effect: "deploys an application" } : undefined;
};
