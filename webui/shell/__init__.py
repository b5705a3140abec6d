"""Parts that all pages share: navigation, forms, commands, downloads."""
