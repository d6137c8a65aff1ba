"""The Gradio theme: paper, ink and one accent, the same as the viewer's; system fonts, nothing to fetch."""

import gradio as gr

from visualize.theme import STYLES, TREE_MARKS, Theme, palette

SANS = ("ui-sans-serif", "system-ui", "-apple-system", "Segoe UI", "Noto Sans", "DejaVu Sans", "sans-serif")
MONO = ("ui-monospace", "SF Mono", "Cascadia Code", "DejaVu Sans Mono", "Menlo", "Consolas", "monospace")
SELECTORS: dict[Theme, str] = {"light": ".gradio-container", "dark": "body.dark .gradio-container"}


def page_theme() -> gr.themes.Base:
    light, dark = palette("light"), palette("dark")
    theme = gr.themes.Base(font=list(SANS), font_mono=list(MONO), radius_size="sm", text_size="md")
    colors = {
        "body_background_fill background_fill_primary input_background_fill": (light.paper, dark.paper),
        "background_fill_secondary color_accent_soft checkbox_label_background_fill_selected "
        "button_secondary_background_fill_hover": (light.band, dark.band),
        "body_text_color block_title_text_color button_secondary_text_color": (light.ink, dark.ink),
        "body_text_color_subdued block_label_text_color block_info_text_color input_placeholder_color": (
            light.soft, dark.soft,
        ),
        "block_background_fill block_label_background_fill checkbox_label_background_fill "
        "button_secondary_background_fill": ("transparent", "transparent"),
        "border_color_accent input_border_color_focus slider_color link_text_color": (light.accent, dark.accent),
        "checkbox_background_color_selected checkbox_border_color_selected button_primary_background_fill": (
            light.accent, light.accent,
        ),
        "border_color_primary": ("#e3e6ea", "#2b3138"),
        "input_border_color button_secondary_border_color": ("#cfd5db", "#3a424b"),
        "button_primary_background_fill_hover": ("#275e95", "#3474b4"),
        "button_primary_text_color": ("#ffffff", "#ffffff"),
    }  # fmt: skip
    named = [(name, pair) for names, pair in colors.items() for name in names.split()]
    values = {name: light for name, (light, _) in named} | {f"{name}_dark": dark for name, (_, dark) in named}
    return theme.set(
        **values,
        color_accent=light.accent,
        block_border_width="0px",
        block_padding="0px",
        block_shadow="none",
        block_title_text_size="0.875rem",
        block_title_text_weight="500",
        block_info_text_size="0.8125rem",
        form_gap_width="0px",
        input_border_width="1px",
        input_shadow="none",
        button_large_text_weight="600",
        layout_gap="20px",
    )


def mark_colors() -> str:
    """The colours of the marks below words, in both themes: those of the viewer."""
    return "".join(
        f"{selector} {{{' '.join(f'--o-{mark}: {STYLES[mark].color(theme)};' for mark in TREE_MARKS)}}}"
        for theme, selector in SELECTORS.items()
    )
