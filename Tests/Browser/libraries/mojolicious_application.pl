# A web application with Mojolicious::Plugin::OAuth2, which is told the address of the discovery document.

use Mojolicious::Lite -signatures;
use Mojo::Util qw(sha1_sum);

my $port = $ENV{PORT};
app->secrets(['a key of this application']);
plugin OAuth2 => {providers => {countersign => {
    key            => $ENV{CLIENT_ID},
    secret         => $ENV{CLIENT_SECRET},
    well_known_url => "$ENV{ISSUER}/.well-known/openid-configuration",
}}};

sub fresh { return sha1_sum(join '-', map { rand } 1 .. 8) }

get '/' => sub ($c) {
    my ($state, $nonce) = (fresh(), fresh());
    $c->session(state => $state, nonce => $nonce);
    $c->redirect_to($c->oauth2->auth_url('countersign', {
        redirect_uri    => "http://127.0.0.1:$port/callback",
        scope           => 'openid email profile',
        state           => $state,
        authorize_query => {response_type => 'code', nonce => $nonce},
    }));
};

get '/callback' => sub ($c) {
    return $c->render(json => {error => 'state'}) if $c->param('state') ne $c->session('state');
    $c->oauth2->get_token_p('countersign', {redirect_uri => "http://127.0.0.1:$port/callback"})->then(sub ($answer) {
        my $claims = $c->oauth2->jwt_decode('countersign', data => $answer->{id_token});
        return $c->render(json => {error => 'nonce'}) if $claims->{nonce} ne $c->session('nonce');
        my $address = app->oauth2->providers->{countersign}{userinfo_url};
        return $c->ua->get_p($address, {Authorization => "Bearer $answer->{access_token}"})->then(sub ($transaction) {
            $c->render(json => $transaction->result->json);
        });
    })->catch(sub ($error) { $c->render(json => {error => "$error"}) });
};

app->start('daemon', '-l', "http://127.0.0.1:$port");
