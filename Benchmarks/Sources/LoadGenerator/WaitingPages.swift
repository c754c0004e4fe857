import Glibc
import ServerClients
import _Primitives

/// Pages that wait for their phones, and the server's memory for each page.
struct WaitingPages {
    /// The number of channels of one sign-in.
    private static let channels = 8

    private let server: Server
    private let process: ServerProcess
    private let relyingParty: RelyingParty
    private var signIns: [RelyingParty.SignIn] = []
    private var pages: [Held] = []

    init(_ process: ServerProcess, _ relyingParty: RelyingParty) {
        self.server = Server(process)
        self.process = process
        self.relyingParty = relyingParty
    }

    /// Raises the limit of open files for this process and its children to the system's maximum.
    static func raiseLimit() -> Int {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        limits.rlim_cur = limits.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return Int(clamping: limits.rlim_cur)
    }

    /// Returns the resident growth for each page from `first` pages to `last`, in KiB. Afterwards checks that pages
    /// still receive their events.
    mutating func growth(from first: Int, to last: Int) throws -> Double {
        // The cost of a sign-in without waiting pages does not count.
        var browser = try self.server.connect()
        while self.signIns.count * Self.channels < last {
            self.signIns.append(try self.relyingParty.beginSignIn(on: &browser))
        }
        try self.open(first)
        let before = self.process.residentMebibytes()
        try self.open(last)
        let growth = (self.process.residentMebibytes() - before) * 1024 / Double(last - first)
        var phone = try self.server.connect()
        // One page of each sign-in would be enough. All pages of some sign-ins receive events.
        for index in stride(from: 0, to: self.signIns.count, by: 50) {
            _ = try self.server.redeem(self.signIns[index].typedCode, on: &phone)
            for page in self.pages[(index * Self.channels)..<min((index + 1) * Self.channels, last)] {
                try page.connection.wait(for: "\"claimed\"")
            }
        }
        return growth
    }

    private mutating func open(_ count: Int) throws {
        while self.pages.count < count {
            let signIn = self.signIns[self.pages.count / Self.channels]
            let page = Held(try self.server.connect())
            try page.connection.send(
                "GET", signIn.eventsPath, headers: signIn.cookies + ["Accept: text/event-stream", forwardedHeader()],
                body: [])
            try page.connection.wait(for: "\"waiting\"")
            self.pages.append(page)
        }
    }
}

/// A connection in a class, so that an array can hold the connection.
final class Held {
    var connection: HTTPConnection
    init(_ connection: consuming HTTPConnection) { self.connection = connection }
}
