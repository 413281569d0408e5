FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip wheel --no-cache-dir --wheel-dir /wheels '/src[serve]'

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'labeltree[serve]' && rm -rf /wheels \
    && useradd --create-home labeltree && mkdir /models && chown labeltree /models
USER labeltree
VOLUME /models
EXPOSE 8080
ENTRYPOINT ["labeltree", "serve", "/models/m.labeltree", "--host", "0.0.0.0"]
