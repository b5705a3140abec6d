"""Django settings; every deployment choice comes from `webui.config.environment`."""

from pathlib import Path

from csp.constants import NONCE, NONE, SELF

from cdc.settings import Connections
from webui.config.environment import WebEnvironment, database
from webui.translation.catalogues import compile_catalogues

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = WebEnvironment()
CONNECTIONS = Connections()

SECRET_KEY = ENVIRONMENT.secret_key.get_secret_value()
DEBUG = False
# The probes of the supervisor and of the container use loopback addresses.
ALLOWED_HOSTS = [*ENVIRONMENT.listed(ENVIRONMENT.allowed_hosts), "127.0.0.1", "localhost"]
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.listed(ENVIRONMENT.trusted_origins)
COMPANY_NAME = ENVIRONMENT.company_name
COMPANY_ADDRESS = ENVIRONMENT.company_lines
CURRENCY = ENVIRONMENT.currency
WEBHOOK_PRIVATE_TARGETS = ENVIRONMENT.webhook_private_targets
WEBHOOK_TIMEOUT_S = ENVIRONMENT.webhook_timeout_s
WEBHOOK_WAIT_DAYS = ENVIRONMENT.webhook_wait_days
WEBHOOK_METRICS_HOST = ENVIRONMENT.webhook_metrics_host
WEBHOOK_METRICS_PORT = ENVIRONMENT.webhook_metrics_port
STORES_TIME_ZONE = ENVIRONMENT.time_zone

# Packages with routes; `webui.config.urls` includes each.
DESKS = (
    "webui.accounts",
    "webui.shell",
    "webui.desks.stock",
    "webui.desks.tasks",
    "webui.desks.home",
    "webui.desks.counts",
    "webui.desks.receiving",
    "webui.desks.transfers",
    "webui.desks.reorders",
    "webui.desks.orders",
    "webui.desks.sends",
    "webui.desks.suppliers",
    "webui.desks.history",
    "webui.desks.ranging",
    "webui.desks.prices",
    "webui.desks.system",
    "webui.desks.people",
    "webui.desks.reference",
    "webui.live",
    "webui.api",
)
INSTALLED_APPS = [
    # The admin site is `webui.desks.reference.site`. It needs no automatic registration of models.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "ledger",
    "webui.readmodel",
    *DESKS,
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "webui.config.compression.CompressTexts",
    "webui.api.frame.Frame",
    "webui.config.static_files.serve_joined",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "webui.translation.middleware.Language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webui.accounts.refusals.Refusals",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "webui.config.permissions.Permissions",
    "webui.config.zero_bytes.RefuseZeros",
    "webui.accounts.sessions.SessionRules",
    "webui.accounts.gate.Gate",
]
ROOT_URLCONF = "webui.config.urls"
ASGI_APPLICATION = "webui.config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["webui.shell.templatetags.texts"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "django.template.context_processors.i18n",
            ],
        },
    },
]

DATABASES = {"default": database(CONNECTIONS, ENVIRONMENT)}
# `app.action_log` records changes in the admin, so Django's admin log has no table (decision 0031).
MIGRATION_MODULES = {"admin": None}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "webui.accounts.passwords.NoDecoratedCommon"},
    {"NAME": "webui.accounts.passwords.NoKnownWords"},
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

LANGUAGE_CODE = "en"
# Each name is in its own language, so that people find theirs (docs/how-to/add-a-language.md).
LANGUAGES = (
    ("en", "English"),
    ("de", "Deutsch"),
)
LOCALE_PATHS = [BASE_DIR / "locale"]
compile_catalogues(LOCALE_PATHS[0])
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [path for path in (BASE_DIR / "static",) if path.is_dir()]
# Only files of this project. The admin has our templates, so its scripts and styles aren't served.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
STATIC_ROOT = CONNECTIONS.home / "static"
# Files are served from the source tree, so a clone needs no build step.
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = False
SERVESTATIC_MIMETYPES = {".webmanifest": "application/manifest+json"}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
CSRF_FAILURE_VIEW = "webui.config.errors.handle_csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies
SESSION_IDLE_S = ENVIRONMENT.idle_minutes * 60
SESSION_LONGEST_S = ENVIRONMENT.session_hours * 3600
SESSION_ENGINE = "webui.accounts.session_store"
SESSION_COOKIE_AGE = SESSION_LONGEST_S
SECOND_FACTOR_ROLES = ENVIRONMENT.roles_with_second_factor
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
# The local stack uses HTTP on loopback. With INVENTORY_HTTPS, these settings require TLS.
SESSION_COOKIE_NAME = "__Host-sessionid" if ENVIRONMENT.https else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if ENVIRONMENT.https else "csrftoken"
SESSION_COOKIE_SECURE = ENVIRONMENT.https
CSRF_COOKIE_SECURE = ENVIRONMENT.https
SECURE_SSL_REDIRECT = ENVIRONMENT.https
# Requests to these paths aren't redirected to HTTPS. The API refuses a token that came in clear
# text, and a redirect would hide this problem. Probes come without TLS.
SECURE_REDIRECT_EXEMPT = ["^api/", "^livez$", "^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000 if ENVIRONMENT.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = ENVIRONMENT.https
SECURE_HSTS_PRELOAD = ENVIRONMENT.https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENVIRONMENT.https else None

# Request errors go to standard error with their traceback. Django's default mails them, and no mail
# address is configured.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"handlers": [], "level": "ERROR", "propagate": True},
    },
}
