import CeremonyEngine
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Store
import _Primitives

extension Response {
    /// One event, and the end of the stream: for a reader that goes on elsewhere.
    static func serverSentEvent(name: String, _ document: JSONObject) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: "event: \(name)\ndata: \(JSON.object(document).text)\n\n")))
    }

    /// A stream of server-sent events (HTML, section 9.2): one event an element, JSON data, and a comment now and then
    /// that keeps proxies from closing a quiet connection.
    ///
    /// It ends with `events`, when the other end closes the connection, when its source opens more than its share, or
    /// when the server shuts down. An error of `events` ends it too: the reader asks again and is then answered in
    /// words.
    ///
    /// There are as many streams as waiting pages. Each one is written by its connection's own task, which sleeps in
    /// between; no other task, timer or copy of the request waits for it.
    ///
    /// - Parameters:
    ///   - name: The type of the events.
    ///   - context: The request that this answers.
    ///   - events: What is told. A slow reader is told the newest state when it reads again.
    ///   - channels: Where the stream is counted.
    ///   - heartbeat: How long the connection may be quiet.
    ///   - heartbeatEvent: The type of an event that is sent then, for a reader that sees no comments; `nil` for a comment.
    ///   - document: The data of one event.
    static func serverSentEvents<Element: Equatable & Sendable>(
        name: String, to context: ServerContext, _ events: CeremonyEvents<Element>, in channels: EventChannels,
        heartbeat: Duration, heartbeatEvent: String? = nil,
        _ document: @escaping @Sendable (Element) throws -> JSONObject
    ) -> Response {
        let (source, channel, logger) = (context.source, context.channel, context.logger)
        let quiet = heartbeatEvent.map { "event: \($0)\ndata: {}\n\n" } ?? ": still here\n\n"
        let body = ResponseBody { writer in
            // Sent at once, so that the reader knows that it is connected.
            try await writer.write(ByteBuffer(string: "retry: \(Limits.Fixed.eventRetry.milliseconds)\n\n"))
            var iterator = events.makeAsyncIterator()
            let watch = iterator.watch
            // Without the connection a reader that has gone would be noticed only by the next write, and count as one
            // till then.
            let place = channels.enter(watch, of: source, on: ObjectIdentifier(channel), logger: logger) { ended in
                channel.closeFuture.whenComplete { _ in ended() }
            }
            defer { channels.leave(place) }
            try await withGracefulShutdownHandler {
                // An error of the events ends the stream as their end does.
                while let news = try? await iterator.next(patience: heartbeat) {
                    switch news {
                    case .state(let element):
                        guard let data = try? JSON.object(document(element)).text else { return }
                        try await writer.write(ByteBuffer(string: "event: \(name)\ndata: \(data)\n\n"))
                    case .quiet: try await writer.write(ByteBuffer(string: quiet))
                    }
                }
            } onGracefulShutdown: { [weak watch] in
                watch?.end()
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }
}
