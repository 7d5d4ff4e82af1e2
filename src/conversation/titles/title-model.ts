import type { AuxiliaryOptions } from "../../agent/options.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { ReadVariable, RouteSettings } from "../../providers/routes/choose-provider.ts";
import { resolveRoute } from "../../providers/routes/resolve-route.ts";
import { type OpenRoute, openRoute } from "../../providers/routes/route-http.ts";
import type { TitleModel } from "./write-title.ts";

type TitleSettings = RouteSettings & { readonly auxiliary: Pick<AuxiliaryOptions, "title_generation"> };

/** Opens the model that writes titles: the configured one, or else `main`. */
export function createTitleModel(
  settings: TitleSettings,
  main: () => Promise<TitleModel>,
  {
    variable,
    variables,
  }: { variable: ReadVariable; variables: Readonly<Record<string, string | undefined>> },
): { open(): Promise<TitleModel> } & AsyncDisposable {
  const { provider, model } = settings.auxiliary.title_generation;
  let opened: OpenRoute | undefined;
  return {
    async open() {
      if (provider === "auto" && model === "") return main();
      const request = { provider: provider === "auto" ? undefined : provider, model: model || undefined };
      opened ??= await openRoute(resolveRoute(settings, request, variable), variables, {
        clock: systemClock,
        cacheTtl: "5m",
      });
      return opened.model;
    },
    async [Symbol.asyncDispose]() {
      await opened?.http[Symbol.asyncDispose]();
    },
  };
}
