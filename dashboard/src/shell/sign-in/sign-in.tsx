import { useEffect, useState } from "react";
import type { Me, OidcStartAnswer } from "../../../../src/api/contract/access.ts";
import { Button } from "../../components/controls/button.tsx";
import { TextField } from "../../components/controls/field.tsx";
import { Note } from "../../components/layout/note.tsx";
import { CopyLine } from "../../components/text/copy-line.tsx";
import { useApi } from "../../data/app-data.tsx";
import { Problem } from "../../data/problem.ts";
import { sentenceOf } from "../../words/problem-words.ts";
import { words } from "../../words/words.ts";
import { Brand } from "../brand.tsx";
import styles from "./sign-in.module.css";

interface SignInProps {
  readonly ways: Extract<Me, { signedIn: false }>["ways"];
  /** The host of the OpenID Connect provider. */
  readonly provider?: string | undefined;
  /** The code of the link that was opened. */
  readonly code?: string | undefined;
  /** Why the provider did not sign this browser in. */
  readonly providerProblem?: string | undefined;
  /** Shown over an open page whose sign-in has ended. */
  readonly over?: boolean;
  onSignedIn(): void;
}

/** Signs this browser in with a link, a password or a provider. */
export function SignIn({
  ways,
  provider = "",
  providerProblem,
  code,
  over = false,
  onSignedIn,
}: SignInProps) {
  const api = useApi();
  const [problem, setProblem] = useState(() => describeProblem(providerProblem));
  const [busy, setBusy] = useState(code !== undefined);
  const { signIn } = words.shell;

  const attempt = async (
    request: () => Promise<unknown>,
    refusal: string,
    isSignedIn = true,
  ): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await request();
      if (isSignedIn) onSignedIn();
    } catch (error) {
      const status = error instanceof Problem ? error.status : 0;
      setProblem(status === 401 ? refusal : status === 429 ? signIn.tooMany : sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  const enter = (text: string): Promise<void> =>
    attempt(() => api.send("POST", "enter", { code: text }), signIn.failed);

  const openProvider = async (): Promise<void> => {
    const next = location.pathname.slice(new URL(document.baseURI).pathname.length - 1) + location.search;
    const { url } = await api.send<OidcStartAnswer>("POST", "oidc/start", { next });
    location.assign(url);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a link is used once
  useEffect(() => {
    if (code !== undefined) void enter(code);
  }, [code]);

  return (
    <div className={styles.card}>
      <Brand className={styles.sign} />
      <h1>{over ? signIn.again : signIn.title}</h1>
      {over && <p className="soft">{signIn.againHint}</p>}
      {busy && code !== undefined && <p className="soft">{signIn.entering}</p>}
      {problem !== undefined && (
        <div role="alert">
          <Note bad>{problem}</Note>
        </div>
      )}
      {ways.includes("oidc") && (
        <Button kind="main" busy={busy} onClick={() => void attempt(openProvider, signIn.wrong, false)}>
          {signIn.provider(provider)}
        </Button>
      )}
      {ways.includes("password") && (
        <PasswordForm
          busy={busy}
          onSubmit={(body) => void attempt(() => api.send("POST", "sign-in", body), signIn.wrong)}
        />
      )}
      {ways.includes("link") && (
        <section className={styles.link}>
          {ways.includes("password") && <h2>{signIn.or}</h2>}
          <p className="soft">{signIn.link}</p>
          <CopyLine text={signIn.command} />
          <LinkForm busy={busy} onSubmit={(text) => void enter(text)} />
          <p className={styles.hint}>{signIn.linkHint}</p>
        </section>
      )}
    </div>
  );
}

function describeProblem(problem: string | undefined): string | undefined {
  const { problems } = words.shell.signIn;
  return problem === undefined ? undefined : (problems[problem] ?? problems["invalid"]);
}

function PasswordForm({
  busy,
  onSubmit,
}: {
  readonly busy: boolean;
  onSubmit(body: { name: string; password: string }): void;
}) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { signIn } = words.shell;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) onSubmit({ name, password });
      }}
    >
      <TextField
        label={signIn.name}
        name="username"
        autoComplete="username"
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label={signIn.password}
        name="password"
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <Button type="submit" kind="main" busy={busy}>
        {signIn.submit}
      </Button>
    </form>
  );
}

function LinkForm({ busy, onSubmit }: { readonly busy: boolean; onSubmit(code: string): void }) {
  const [text, setText] = useState("");
  const { signIn } = words.shell;
  return (
    <form
      className={styles.row}
      onSubmit={(event) => {
        event.preventDefault();
        const code = text.trim().split("#").at(-1) ?? "";
        if (!busy && code !== "") onSubmit(code);
      }}
    >
      <TextField
        label={signIn.paste}
        bare
        placeholder={signIn.paste}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" busy={busy}>
        {signIn.use}
      </Button>
    </form>
  );
}
