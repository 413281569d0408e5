# The whole image has a compiler; what it makes runs in the slim one.
FROM python:3.12 AS build
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
