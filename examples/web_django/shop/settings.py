from pathlib import Path

SECRET_KEY = "for this example alone"
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.views"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ALLOWED_HOSTS = ["*"]
USE_TZ = True

_database = Path(__file__).parent.parent / "shop.sqlite3"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": _database,
        "TEST": {
            "NAME": _database.with_name("test.sqlite3")
        },  # a file: handlers run in threads with connections of their own
    }
}
