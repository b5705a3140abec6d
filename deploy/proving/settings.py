"""Settings of the nightly proof."""

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class ProofSettings(BaseSettings):
    """Environment variables of the prover. Each name has the prefix `INVENTORY_`."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True, extra="forbid")

    proof_hour: int | None = Field(default=3, ge=0, le=23)  # local time; None turns proofs off

    @field_validator("proof_hour", mode="before")
    @classmethod
    def _empty_is_none(cls, text: object) -> object:
        return None if text == "" else text
