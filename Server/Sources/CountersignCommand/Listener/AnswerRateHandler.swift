import Foundation
import NIOCore
import Settings

/// Closes the connection at once, even with unsent parts of its answers.
struct ConnectionCut: Sendable {}

/// Tells the connection that the server stops. The server does not wait for a client that reads nothing.
struct ConnectionDrains: Sendable {}

/// The other end's progress in taking the answer.
enum AnswerProgress: Sendable {
    /// No unsent byte has left since the last look.
    case stalled
    /// Unsent bytes have left, or no unsent byte remains.
    case moving
    /// No byte has left for two looks while the server stops: the connection is cut.
    case unread
}

/// Gives answers a least rate, as requests have a deadline: a client that does not read its answers loses the
/// connection.
///
/// The handler stands next to the socket and counts bytes. So the handler sees the bytes that really leave, also under
/// TLS. Only time with unsent bytes counts: a channel that waits for events can be quiet for ever. The handler looks at
/// the connection from time to time after sending, and inspects nothing of the connection while sending.
///
/// While the server stops, a client that has read nothing for two looks is cut (``UnreadLooks``).
///
/// At the close of a connection the handler first sends the unsent bytes, at the same rate. Only ``ConnectionCut`` does
/// not wait.
final class AnswerRateHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let period: TimeAmount
    private let bytes: Int
    private let look: TimeAmount
    private let connections: OpenConnections?
    private let unsent: (any Channel) -> Int?
    private var timer: Scheduled<Void>?
    private var written = 0
    private var sentAtLastLook: Int?
    private var isStalled = false
    /// The looks during the stop; `nil` before the stop.
    private var unreadLooks: UnreadLooks?
    /// The beginning of the period, the number of bytes that had left by then, and the number that had to leave.
    private var begin: (at: NIODeadline, sent: Int, written: Int)?

    /// Creates a handler. `unsent` returns the number of bytes that wait in this process for the connection's socket;
    /// `nil` for a connection that has ended.
    init(
        limits: Limits, connections: OpenConnections?,
        unsent: @escaping (any Channel) -> Int? = {
            try? $0.syncOptions?.getOption(.bufferedWritableBytes)
        }
    ) {
        self.unsent = unsent
        self.period = TimeAmount(limits.answerPeriod)
        self.bytes = limits.answerBytes
        self.look = TimeAmount(limits.answerLook)
        self.connections = connections
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.written += self.unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if self.timer == nil { self.schedule(context) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, let unsent = self.unsent(context.channel), unsent > 0 else {
            context.close(mode: mode, promise: promise)
            return
        }
        // An empty write is done when everything before it has left.
        let last = context.eventLoop.makePromise(of: Void.self)
        last.futureResult.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: promise) }
        context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: last)
        if self.timer == nil { self.schedule(context) }
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        switch event {
        case is ConnectionCut: self.cut(context, promise)
        case is ConnectionDrains:
            promise?.succeed()
            guard self.unreadLooks == nil, let unsent = self.unsent(context.channel) else { return }
            self.unreadLooks = UnreadLooks(sent: self.written - unsent)
        default: context.triggerUserOutboundEvent(event, promise: promise)
        }
    }

    /// Closes the connection, and makes the system drop the connection's unsent bytes, too.
    private func cut(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        if let unsent = self.unsent(context.channel), unsent > 0 {
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        context.close(promise: promise)
    }

    private func schedule(_ context: ChannelHandlerContext) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: self.look) { self.lookAgain(context) }
    }

    private func lookAgain(_ context: ChannelHandlerContext) {
        self.timer = nil
        guard let unsent = self.unsent(context.channel) else { return }
        let sent = self.written - unsent
        self.tell(isStalled: unsent > 0 && sent == self.sentAtLastLook, context)
        guard unsent > 0 else {
            (self.sentAtLastLook, self.begin) = (nil, nil)
            return
        }
        self.sentAtLastLook = sent
        if self.unreadLooks?.isOver(sent: sent) == true {
            context.fireUserInboundEventTriggered(AnswerProgress.unread)
            self.connections?.countUnreadAnswer()
            self.cut(context, nil)
            return
        }
        let now = context.eventLoop.now
        let begin = self.begin ?? (now, sent, self.written)
        self.begin = begin
        if now - begin.at >= self.period {
            // If fewer bytes were unsent, sending all of them is enough.
            guard sent >= min(begin.sent + self.bytes, begin.written) else {
                self.connections?.countUnreadAnswer()
                self.cut(context, nil)
                return
            }
            self.begin = (now, sent, self.written)
        }
        self.schedule(context)
    }

    private func tell(isStalled: Bool, _ context: ChannelHandlerContext) {
        guard isStalled != self.isStalled else { return }
        self.isStalled = isStalled
        context.fireUserInboundEventTriggered(isStalled ? AnswerProgress.stalled : .moving)
    }
}

@available(*, unavailable)
extension AnswerRateHandler: Sendable {}
