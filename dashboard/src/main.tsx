import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "./tokens.css";
import "./base.css";

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no place for the app");
createRoot(root).render(<App />);
