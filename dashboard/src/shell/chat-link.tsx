import { Link } from "@tanstack/react-router";
import { type ReactNode, useContext } from "react";
import buttons from "../components/controls/button.module.css";
import { OwnProfile } from "./profile.tsx";

interface ChatLinkProps {
  readonly profile: string;
  readonly id: string;
  readonly children: ReactNode;
}

/** A button that opens the chat in a session. */
export function ChatLink({ profile, id, children }: ChatLinkProps) {
  const own = useContext(OwnProfile);
  return (
    <Link
      to="/chat/$session"
      params={{ session: id }}
      search={{ profile: profile === own ? undefined : profile }}
      className={`${buttons.button} ${buttons.plain} ${buttons.small}`}
    >
      {children}
    </Link>
  );
}
