import Foundation
import NIOCore
import NIOEmbedded
import Settings
import Synchronization
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("Answers have a least rate (threat model, Floods)")
struct AnswerRateTests {
    private enum State { case open, closed, unread }

    /// A socket that takes nothing until it is told to.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = IOData
        private var promises: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { self.promises.append(promise) }
        }

        func flush(context: ChannelHandlerContext) {}

        func take() {
            for promise in self.promises { promise.succeed() }
            self.promises = []
        }
    }

    /// A connection whose socket takes as much as the test lets it.
    private final class Connection {
        let channel = EmbeddedChannel()
        let connections = Listener.connections(9)
        private let unsent = Mutex(0)

        init() throws {
            // What a server goes by that nobody has told otherwise: 4 KiB in 30 seconds (decision 15).
            try self.channel.pipeline.syncOperations.addHandler(
                AnswerRateHandler(limits: Limits(), connections: self.connections) { _ in
                    self.unsent.withLock { $0 }
                })
            self.channel.connect(to: try SocketAddress(unixDomainSocketPath: "/x"), promise: nil)
        }

        /// Writes an answer, none of which leaves.
        func answer(_ count: Int) {
            self.unsent.withLock { $0 += count }
            self.channel.writeAndFlush(ByteBuffer(repeating: 0, count: count), promise: nil)
        }

        func leave(_ count: Int) { self.unsent.withLock { $0 -= count } }

        /// The state alone: a connection cannot be printed.
        func expect(_ state: State, sourceLocation: SourceLocation = #_sourceLocation) {
            let current = self.state
            #expect(current == state, sourceLocation: sourceLocation)
        }

        func wait(_ seconds: Int64) { self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

        var state: State {
            guard !self.channel.isActive else { return .open }
            return self.connections.metrics.contains("\ncountersign_answers_unread_total 1\n") ? .unread : .closed
        }
    }

    @Test("A client that reads nothing is cut after the period, and one that reads a byte a minute too")
    func stalled() throws {
        let connection = try Connection()
        connection.answer(100_000)
        connection.wait(30)
        connection.expect(.open)
        connection.wait(1)
        connection.expect(.unread)

        let trickle = try Connection()
        trickle.answer(100_000)
        trickle.wait(15)
        trickle.leave(1)
        trickle.wait(16)
        trickle.expect(.unread)
    }

    @Test("A client that reads slowly, but not too slowly, has the whole answer, however long it takes")
    func slow() throws {
        let connection = try Connection()
        connection.answer(4096 * 20)
        for _ in 0..<20 {
            connection.wait(29)
            connection.leave(4096)
        }
        connection.wait(600)
        connection.expect(.open)
    }

    @Test("A short rest counts as enough, and only time in which something is unsent counts")
    func quiet() throws {
        let connection = try Connection()
        for _ in 0..<5 {
            connection.answer(20)
            connection.wait(3)
            connection.leave(20)
            connection.wait(3600)
        }
        connection.expect(.open)
        // The rest of one event, then another event that waits: each has left within a period.
        connection.answer(20)
        for _ in 0..<10 {
            connection.wait(20)
            connection.answer(20)
            connection.leave(20)
        }
        connection.expect(.open)
        connection.wait(61)
        connection.expect(.unread)
    }

    @Test("While the server stops a client has two looks to read something, again and again")
    func stopping() throws {
        let stalled = try Connection()
        stalled.answer(100_000)
        stalled.wait(5)
        stalled.channel.triggerUserOutboundEvent(ConnectionDrains(), promise: nil)
        stalled.wait(1)
        stalled.expect(.open)
        stalled.wait(1)
        stalled.expect(.unread)

        let reading = try Connection()
        reading.answer(100_000)
        reading.channel.triggerUserOutboundEvent(ConnectionDrains(), promise: nil)
        for _ in 0..<10 {
            reading.wait(1)
            reading.leave(5_000)
            reading.wait(1)
            reading.expect(.open)
        }
        reading.wait(2)
        reading.expect(.unread)
    }

    @Test("What is unsent is sent before the connection is closed, unless it is cut")
    func closing() throws {
        let connection = try Connection()
        connection.answer(10)
        let closed = connection.channel.close()
        connection.leave(10)
        connection.channel.embeddedEventLoop.run()
        #expect(throws: Never.self) { try closed.wait() }
        #expect(try connection.channel.readOutbound(as: ByteBuffer.self)?.readableBytes == 10)

        let slow = try Connection()
        let socket = FullSocket()
        try slow.channel.pipeline.syncOperations.addHandler(socket, position: .first)
        slow.answer(10)
        slow.channel.close(promise: nil)
        slow.channel.embeddedEventLoop.run()
        slow.expect(.open)
        slow.leave(10)
        socket.take()
        slow.channel.embeddedEventLoop.run()
        slow.expect(.closed)

        let cut = try Connection()
        cut.answer(10)
        cut.expect(.open)
        cut.channel.triggerUserOutboundEvent(ConnectionCut(), promise: nil)
        cut.expect(.closed)
    }
}
