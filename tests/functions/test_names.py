"""PyTorch's names and keywords as programs write them, in both libraries."""

import pytest

from tests.support.cases import each
from tests.support.expressions import assert_alike, split

EXPRESSIONS: dict[str, str] = {
    "creation": r"""
t.tril_indices(3,4) ; t.triu_indices(3,3,1) ; t.triu_indices(row=3,col=4,offset=-1) ; t.arange(5) ; t.arange(1,5)
t.arange(1,5,2) ; t.arange(0,1,.1) ; t.arange(5,dtype=t.float32) ; t.arange(0,10,3,dtype=t.int32) ; t.arange(5.)
t.arange(start=1,end=4) ; t.arange(end=4) ; t.arange(5,0,-1) ; t.arange(0.5,3) ; t.arange(t.tensor(4))
t.arange(0,3,out=t.empty(3)) ; t.arange(3.7) ; t.arange(0,2.5,dtype=t.int64) ; t.range(1,4) ; t.linspace(0,1,5)
t.linspace(-10,10,steps=7) ; t.linspace(start=0,end=1,steps=3,dtype=t.float64) ; t.logspace(0,2,3)
t.logspace(0,4,5,base=2) ; t.eye(3) ; t.eye(2,3,dtype=t.int64) ; t.full((2,3),1) ; t.full((2,),1.5) ; t.full([2],True)
t.full((2,),fill_value=3,dtype=t.float32) ; t.full((2,),t.tensor(3.)) ; t.full_like(x,2) ; t.full_like(i,2.7)
t.zeros(2,3) ; t.zeros((2,3),dtype=t.long) ; t.zeros(size=(2,3)) ; t.zeros([2,3]) ; t.zeros(())
t.zeros(t.Size([2,3])) ; t.zeros(x.shape[0],x.size(1)) ; t.zeros(2,3,out=t.ones(2,3)) ; t.zeros_like(i)
t.zeros_like(x,dtype=t.bool) ; t.ones_like(x.t()) ; t.empty(2,3).shape ; t.tensor(3) ; t.tensor(3.) ; t.tensor(True)
t.tensor([1,2.5]) ; t.tensor([True,1]) ; t.tensor(np.float64(3)) ; t.tensor(np.float32(3)) ; t.tensor(np.int64(3))
t.tensor(np.array([1,2],dtype=np.int32)) ; t.tensor([np.float64(1.5),2]) ; t.tensor([np.float32(1.5)])
t.tensor([np.int32(1)]) ; t.tensor([t.tensor(1),t.tensor(2)]) ; t.tensor([t.tensor(1.),2])
t.tensor([np.array([1,2]),np.array([3,4])]) ; t.tensor(range(3)) ; t.tensor([]) ; t.tensor([[]])
t.tensor([[1,2],[3,4]],dtype=t.float16) ; t.tensor(x) ; t.as_tensor([1,2]) ; t.as_tensor(np.ones(2))
t.from_numpy(np.arange(3)) ; t.tensor(3)==3 ; t.tensor(3) in [1,2,3] ; t.tensor(1.5).tolist() ; t.tensor([1.5]).item()
t.ones(3,3).triu(1)==1 ; t.tensor(1).nonzero() ; t.scalar_tensor(3) ; t.empty_strided((2,3),(1,2)).stride()
t.empty_like(x.t()).stride() ; t.zeros_like(z.permute(2,0,1)).stride() ; t.tensor([1,2]) ; t.tensor([1.0,2])
t.tensor([[True],[False]]) ; t.tensor([1,2],dtype=t.float64) ; t.tensor(np.arange(3)) ; t.tensor(np.float64(2.5))
t.tensor(np.ones(2)) ; t.tensor([np.float32(1),np.float32(2)]) ; t.tensor((1,2)) ; t.tensor([1.5,2.5],dtype=t.int64)
t.as_tensor([1.5]) ; t.asarray([1,2]) ; t.zeros((2,3)) ; t.zeros([2],dtype=t.int32) ; t.zeros(size=(2,2)) ; t.ones(())
t.ones(2,dtype=t.bool) ; t.full((2,3),7) ; t.full((2,),7.5) ; t.full((1,),True) ; t.full([2],3,dtype=t.float64)
t.full((2,2),float('-inf')) ; t.full_like(t.ones(2,3),4) ; t.zeros_like(t.ones(2,dtype=t.int64))
t.ones_like(t.zeros(2),dtype=t.float64) ; t.arange(1,6,2) ; t.arange(0,1,0.25) ; t.arange(5,0,-2)
t.arange(0,4,dtype=t.float32) ; t.arange(3,3) ; t.linspace(2,-2,3,dtype=t.float64) ; t.linspace(0,1,1) ; t.eye(2,3)
t.empty(2,0) ; t.from_numpy(np.ones((2,2),np.int32)) ; t.ones(2).new_zeros(3) ; t.ones(2).new_zeros((3,1))
t.ones(2,dtype=t.int64).new_ones(2,2) ; t.ones(2).new_full((2,),3) ; t.ones(2).new_tensor([1,2])
t.ones(2,dtype=t.float64).new_tensor([1]) ; t.tensor([1,2],dtype=t.float) ; t.tensor([1,2]).type(t.float64)
t.tensor([1,2]).type_as(t.ones(1)) ; t.tensor([1.7]).long() ; t.tensor([0,2]).bool() ; t.tensor([1]).double()
t.tensor([1]).half() ; t.tensor([300]).byte() ; t.tensor([1]).int() ; t.tensor([1]).float()
t.tensor([1.0]).to(t.int32) ; t.tensor([1.0]).to('cpu',t.float64) ; t.tensor([1]).to(t.ones(1))
t.tensor([1]).to(dtype=t.float16) ; t.arange(t.tensor(3)) ; t.zeros(t.tensor(2),3)
""",
    "typed constructors": r"""
t.Tensor([1,2]) ; t.Tensor(2,3).shape ; t.Tensor() ; t.Tensor([[1,2],[3,4]]) ; t.Tensor(x) ; t.Tensor(np.ones(2))
t.Tensor([5]) ; t.Tensor(t.Size([2,2])).shape ; t.LongTensor([1,2]) ; t.LongTensor(2,3).shape ; t.LongTensor([[1,2]])
t.LongTensor(np.array([1,2])) ; t.LongTensor(x.shape).shape ; t.LongTensor() ; t.FloatTensor([1,2])
t.FloatTensor([[1],[2]]) ; t.ByteTensor([1,0]) ; t.BoolTensor([True]) ; t.DoubleTensor([1]) ; t.HalfTensor([1])
t.IntTensor([1]) ; t.ShortTensor([1]) ; t.CharTensor([1]) ; t.LongTensor([1]).type() ; x.type() ; x.type(t.LongTensor)
x.type('torch.DoubleTensor') ; x.type(t.float64) ; i.type(t.FloatTensor) ; x.new(2,3).shape ; x.new([1,2])
i.new([1,2]) ; x.new_tensor([1,2]) ; x.new_zeros(2,3) ; x.new_zeros((2,)) ; x.new_ones(2,dtype=t.long)
x.new_full((2,),3) ; x.new_empty(2,3).shape ; i.new_full((2,),1)
""",
    "order and frequency": r"""
t.median(x) ; t.median(x,1) ; t.median(x,dim=0,keepdim=True) ; t.median(n) ; t.nanmedian(n) ; t.nanmedian(n,0)
t.mode(i,1) ; t.mode(i,0,True) ; t.mode(t.tensor([1,2,2,3,3])) ; t.kthvalue(x,2) ; t.kthvalue(x,1,0,True)
t.quantile(x,.3) ; t.quantile(x,t.tensor([.1,.5]),dim=1) ; t.quantile(x,t.tensor([.1,.5]),dim=1,keepdim=True)
t.quantile(x,.5,interpolation='nearest') ; t.quantile(x,.5,dim=0,keepdim=True) ; t.quantile(n,.5)
t.nanquantile(n[:3],.5) ; t.cummax(x,1) ; t.cummax(n,0) ; t.cummin(i,0) ; t.logcumsumexp(x,1) ; t.aminmax(x)
t.aminmax(x,dim=1,keepdim=True) ; t.std_mean(x) ; t.std_mean(x,1,keepdim=True) ; t.var_mean(x,dim=0,unbiased=False)
t.nansum(n) ; t.nanmean(n) ; t.dist(x,y) ; t.dist(x,y,1) ; t.cov(x) ; t.corrcoef(x) ; t.bincount(i.flatten())
t.bincount(i.flatten(),minlength=12) ; t.bincount(i.flatten(),weights=x.flatten()) ; t.histc(x,5) ; t.histc(x,5,-1,1)
t.searchsorted(t.tensor([1.,2,3]),t.tensor([0.5,2,2.5])) ; t.searchsorted(t.tensor([1.,2,3]),2.0,right=True)
t.searchsorted(t.tensor([[1.,2,3],[2,3,4]]),t.tensor([[2.,9],[2,9]])) ; t.bucketize(x,t.tensor([-1.,0,1]))
t.isin(i,t.tensor([1,2])) ; t.isin(i,3) ; t.unique_consecutive(t.tensor([1,1,2,2,1]))
t.unique_consecutive(t.tensor([1,1,2,2,1]),return_inverse=True,return_counts=True) ; x.dist(y)
""",
    "counts": r"""
t.histogram(x,4) ; t.histogram(x,3,range=(0.,6.),density=True) ; x.histogram(t.tensor([0.,2,8]))
t.bincount(i[0],weights=x[0]) ; t.searchsorted(t.arange(0,9,2),i) ; t.searchsorted(t.arange(0,9,2),i,right=True)
t.bucketize(i,t.tensor([1,3,5])) ; t.searchsorted(t.arange(9).view(3,3),i,out_int32=True)
t.isin(i,t.tensor([1,4]),invert=True) ; t.histc(i.double(),bins=4) ; i.double().histc(5,min=1,max=6)
t.unique_consecutive(i,dim=0) ; t.unique_consecutive(i.reshape(-1)%2,True,True)
""",
    "complex numbers": r"""
repr(t.tensor([1+2j,-.5-1j])) ; repr(t.complex(t.ones(2,dtype=t.float64),t.zeros(2,dtype=t.float64)))
repr(t.tensor([1j])+t.tensor([1,2])) ; repr(t.tensor([1j])*t.tensor([1.,2.],dtype=t.float64)) ; t.tensor([3.+4j]).abs()
repr(t.tensor([3.,-4.])*1j) ; t.zeros(2,dtype=t.complex64) ; t.tensor([1.,-2.,float('nan')]).angle()
t.isreal(t.tensor([1+0j,1j])) ; t.stack([t.tensor(1j),t.tensor(2j)])[0] ; t.tensor([1+1j])==t.tensor([1+1j])
t.tensor([1+2j,3-1j]).conj().resolve_conj()
""",
    "shapes": r"""
t.tril(x,out=x) ; t.diff(x) ; t.diff(x,n=2,dim=1) ; t.diff(v,prepend=t.zeros(1)) ; t.diff(b) ; t.diag(v) ; t.diag(x,1)
t.diag_embed(x) ; t.diag_embed(x,1,0,2) ; t.diagflat(x) ; t.trace(m) ; t.fliplr(x) ; t.flipud(x) ; t.rot90(x)
t.rot90(x,2,[0,1]) ; t.rot90(x,-1,(1,0)) ; t.tensor_split(v,3) ; t.tensor_split(x,(1,3),dim=1) ; t.hsplit(x,2)
t.vsplit(m,2) ; t.atleast_2d(v) ; t.atleast_3d(x) ; t.atleast_1d(t.tensor(1.),v) ; t.dstack((x,y))
t.column_stack((v,w)) ; t.hstack((v,w)) ; t.vstack((v,w)) ; t.block_diag(x,m,v) ; t.cartesian_prod(v,w)
t.combinations(v) ; t.combinations(v,3,True) ; t.meshgrid(v,w,indexing='xy') ; t.meshgrid([v,w],indexing='ij')
t.narrow(x,1,1,2) ; t.narrow(x,1,-2,2) ; v.unfold(0,2,1) ; z.unfold(1,2,1) ; z.unfold(2,3,1)
t.as_strided(x,(2,2),(1,2)) ; t.as_strided(x,(2,2),(1,2),3) ; t.select_scatter(x,t.zeros(4),0,1)
t.slice_scatter(x,t.zeros(2,4),0,1) ; t.diagonal_scatter(x,t.zeros(3)) ; x.t().stride(0) ; x.t().is_contiguous()
t.numel(x) ; t.cat([x,y],dim=1) ; t.cat((x,i),0) ; t.cat([x,t.tensor([])]) ; t.cat(tensors=[x,y],dim=-1)
t.cat([x,y],axis=1) ; t.concat([x,y]) ; t.stack([x,y],dim=-1) ; t.stack((v,w)) ; x.split(2,dim=1) ; t.split(x,[1,3],1)
x.chunk(2,1) ; t.chunk(x,3) ; x.unbind(1) ; x.view(-1) ; x.view(4,3) ; x.view((2,6)) ; x.view([12]) ; x.view(2,-1,3)
x.view(t.int32) ; x.t().view(-1) ; x.view(5,-1) ; x.reshape(-1,2) ; x.t().reshape(-1) ; x.expand(2,3,4)
x.unsqueeze(1).expand(-1,2,-1) ; x.expand(-1,4) ; x.expand(3,5) ; x.expand((2,3,4)) ; x.repeat(2,1) ; x.repeat((1,2))
x.repeat(2,1,1) ; x.tile((2,)) ; x.tile(2,1) ; t.tile(x,(2,2)) ; x.permute(1,0) ; x.permute((1,0))
x.permute(dims=(1,0)) ; t.permute(z,(2,0,1)) ; z.transpose(-1,-2) ; z.transpose(dim0=0,dim1=1) ; z.swapaxes(0,1)
z.movedim(0,-1) ; z.moveaxis((0,1),(1,0)) ; x.t() ; z.flatten(1) ; z.flatten(start_dim=0,end_dim=1) ; z.flatten(-2)
t.flatten(x) ; z.unflatten(2,(2,2)) ; z.unflatten(-1,(2,-1)) ; x.unsqueeze(-1) ; x.view(3,1,4,1).squeeze(1,3)
x.view(3,1,4,1).squeeze(0,-1) ; x.unsqueeze(dim=0) ; t.unsqueeze(x,2) ; x.flip(0) ; x.flip(dims=(0,1)) ; x.flip([1])
x.roll(1,0) ; x.roll(shifts=(1,2),dims=(0,1)) ; x.roll(1) ; x.repeat_interleave(2,dim=0)
t.repeat_interleave(v,t.tensor([1,0,2,1,1])) ; t.repeat_interleave(t.tensor([1,2])) ; x.diagonal()
t.tril(t.ones(3,3)) ; t.tril(b) ; t.triu(t.ones(3,3),diagonal=1).bool() ; t.broadcast_tensors(x,t.ones(4))
t.broadcast_to(v,(2,5)) ; t.broadcast_shapes((2,1),(1,3)) ; t.ravel(x) ; x.expand_as(z) ; x.view_as(x.t())
x.reshape_as(x.t()) ; z.view(6,4) ; z.view((4,-1)) ; z.view(t.Size([8,3])) ; z.view(-1) ; z.reshape([2,-1])
t.reshape(z,(3,8)) ; z.reshape(-1,2,2) ; z.view_as(z.reshape(6,4)) ; z.reshape_as(z.reshape(6,4)) ; z.flatten()
z.flatten(-2,-1) ; t.flatten(z,start_dim=0,end_dim=1) ; z.unflatten(-1,(-1,2)) ; z.permute(0,2,1) ; z.permute((2,1,0))
t.permute(z,(-1,0,1)) ; z.transpose(1,2) ; z.transpose(-1,-3) ; t.transpose(z,0,1) ; z.swapaxes(0,2) ; z[0].t()
z[0,0].t() ; z[0].T ; t.movedim(z,0,-1) ; t.movedim(z,(0,1),(1,2)) ; z.unsqueeze(0) ; z.unsqueeze(dim=-1)
z[:1].squeeze() ; z[:1].squeeze(0) ; z.squeeze(1) ; z[:1,:,:1].squeeze((0,2)) ; z[:,:1].expand(-1,3,-1)
z[0,:1].expand(5,2,4) ; z[:1].expand(2,3,4) ; z[0,0].expand_as(z) ; t.broadcast_to(z[0],(2,3,4)) ; z.repeat(1,2,1)
z[0,0].repeat(3,1) ; z[0].repeat((2,1)) ; t.tile(z[0],(2,)) ; z.repeat_interleave(2,dim=0)
z[0,0].repeat_interleave(2) ; z.flip(0) ; z.flip([0,2]) ; t.roll(z,shifts=1,dims=0) ; z.roll((1,2),(0,-1))
t.cat([z,z]) ; t.cat((z,z),-1) ; t.cat([z[0],z[1]],dim=1) ; t.cat([t.zeros(0,dtype=z.dtype),z[0,0]])
t.stack([z,z],1) ; t.hstack([z,z]) ; t.vstack([z[0,0],z[0,1]]) ; t.hstack((z[0,0],z[0,1])) ; z.split(2,-1)[1]
z.split([1,2],dim=1)[1] ; t.split(z,3,2)[1] ; z.chunk(2)[1] ; z.chunk(3,dim=-1)[1] ; t.chunk(z,9,2)[3] ; z.unbind()[1]
z.unbind(-1)[2] ; z.narrow(-1,1,2) ; z.narrow(1,-2,2) ; z.select(1,2) ; z.diagonal(0,1,2)
t.diagonal(z,offset=-1,dim1=-2,dim2=-1) ; z.tril() ; t.triu(z,diagonal=-1)
t.meshgrid(z[0,0],z[0,:,0],indexing='ij')[1] ; t.meshgrid([z[0,0],z[1,0]],indexing='xy')[0]
z.transpose(0,1).contiguous() ; t.broadcast_tensors(z,z[0,0])[1] ; z.size(-1) * z ; z.view(t.int64)
z.unflatten(1,[3,1]) ; t.unbind(z,dim=1)[0] ; t.reshape(z,shape=[6,4]) ; z.reshape(shape=(-1,4)) ; z.view(size=(6,4))
z.view(dtype=t.int64) ; z[:1].expand(size=(3,-1,4)) ; z.repeat(repeats=(1,2,1)) ; z.split(split_size=2,dim=2)[1]
t.split(z,split_size_or_sections=2,dim=2)[1] ; t.swapaxes(z,axis0=0,axis1=2) ; z.swapdims(dim0=0,dim1=2)
z.to(memory_format=t.contiguous_format)
""",
    "indexing": r"""
t.argsort(x,dim=0,descending=True) ; t.unique(i,return_counts=True) ; t.unique(i,dim=0,return_inverse=True)
t.unique(i) ; t.argwhere(b) ; t.take(x,t.tensor([0,5,-1])) ; x.put(t.tensor([0,5]),t.tensor([1.,2.]))
t.put(x,t.tensor([0,0]),t.tensor([1.,2.]),accumulate=True)
x.index_put((t.tensor([0,0]),t.tensor([1,1])),t.tensor([1.,2.]),accumulate=True) ; x.masked_scatter(b,y)
t.scatter_reduce(x,1,i%4,y,'sum') ; t.scatter_reduce(x,1,i%4,y,'mean',include_self=False)
t.scatter_reduce(x,1,i%4,y,'amax') ; t.scatter_reduce(x,1,i%4,y,'amin',include_self=False)
t.scatter_reduce(x,1,i%4,y,'prod') ; t.scatter_reduce(x,1,i%4,y,reduce='mean') ; x.scatter(1,i%4,2.0,reduce='add')
x.masked_fill(b,t.finfo(x.dtype).min) ; x.masked_fill(b,float('-inf')) ; x.masked_fill(b==0,-1e9)
x.masked_fill(b,t.tensor(3.)) ; x.masked_fill(b.byte(),0) ; x.masked_fill(i,0) ; i.masked_fill(b,7)
i.masked_fill(b,7.0) ; i.masked_fill(b,7.5) ; x.masked_select(b) ; t.topk(x,2)
t.topk(x,k=2,dim=0,largest=False,sorted=True) ; x.topk(2)[0] ; x.sort(1,True) ; x.sort(descending=True)
t.sort(x,dim=0).values ; t.sort(i,stable=True,dim=1) ; x.gather(1,i%4) ; t.gather(x,dim=1,index=i%4)
x.scatter(1,i%4,y) ; x.scatter(1,i%4,1) ; x.scatter(dim=1,index=i%4,value=5) ; x.scatter_add(0,i%3,y)
x.index_select(0,t.tensor([0,2])) ; t.index_select(x,dim=1,index=t.tensor([1])) ; x.index_fill(1,t.tensor([0]),-1)
x.index_add(0,t.tensor([0,1,0]),y) ; x.index_copy(0,t.tensor([2,1,0]),y) ; x.nonzero() ; b.nonzero(as_tuple=True)
t.nonzero(b,as_tuple=False) ; x.take_along_dim(i%4,1) ; x.gather(1,i%4,sparse_grad=False)
x.index_select(0,t.tensor(1)) ; x.index_select(1,(i%4)[0].int()) ; t.nonzero(x>0,as_tuple=True) ; t.where(x>0)
x.argsort(0) ; t.argsort(x,dim=1,descending=True) ; x.masked_select(x>0) ; x.scatter(1,i[:,:1]%4,x[:,2:])
x.index_copy(1,t.tensor([2,0]),x[:,:2])
""",
    "changes in place": r"""
x.index_put_((t.tensor([0]),),t.tensor(7.)) ; x.masked_scatter_(b,y) ; x.scatter_(1,i%4,y,reduce='multiply')
x.clamp_(0) ; x.cumsum_(0) ; t.zeros(3,5).scatter_(1,t.tensor([[1],[2],[0]]),1)
t.zeros(3,5).scatter_(1,t.tensor([[1],[2],[0]]),value=1.5) ; x.index_fill_(1,t.tensor([0]),-1)
x.index_add_(0,t.tensor([0,1,0]),y,alpha=2) ; x.unsqueeze_(0) ; x.squeeze_() ; x.t_() ; x.transpose_(0,1)
t.zeros(3,3).fill_diagonal_(1) ; t.zeros(6,2).fill_diagonal_(1,wrap=True) ; x.eq_(y) ; x.logical_and_(y)
x.add_(y,alpha=2) ; x.sub_(1) ; i.add_(1.5) ; i.div_(2) ; i.div_(2,rounding_mode='floor') ; i.mul_(2)
x.addcmul_(x,y,value=2) ; x.lerp_(y,.5) ; x.clamp_(min=0,max=1) ; x.pow_(2) ; x.fill_(3) ; x.zero_() ; x.copy_(y)
x.copy_(t.ones(4)) ; x.copy_(i) ; x.resize_(2,2) ; x.set_(y) ; x.nan_to_num_(0) ; x.share_memory_().sum()
x.index_put_([t.tensor([0])],t.tensor([1.])) ; x.apply_(lambda k:k+1) ; x.map_(y,lambda a,b:a+b)
""",
    "products and decompositions": r"""
t.addmv(t.zeros(3),x,y[0],beta=.5,alpha=2) ; t.addr(m[:3],y[:,0],x[0]) ; t.addbmm(t.zeros(3,3),z.mT[:, :3],z[:,:,:3])
t.addbmm(t.zeros(4,4),z.mT,z) ; t.vdot(v,w) ; t.inner(x,y) ; t.inner(v,w) ; t.chain_matmul(x,m,m)
t.tensordot(x,y,dims=([0,1],[0,1])) ; t.tensordot(x,m,1) ; t.kron(x,m) ; t.kron(v,x) ; t.cross(x[:,:3],y[:,:3],dim=1)
t.cross(x,y,dim=0) ; t.linalg.cross(x[:,:3],y[:,:3]) ; t.cdist(x,y) ; t.cdist(z,z,p=1) ; t.matrix_power(m,3)
t.logdet(m@m.T+t.eye(4)) ; t.linalg.norm(x) ; t.linalg.norm(x,1) ; t.linalg.norm(x,dim=1)
t.linalg.norm(x,ord=float('inf'),dim=1) ; t.linalg.vector_norm(x,3,dim=0) ; t.linalg.matrix_norm(z)
t.linalg.matrix_norm(x,2) ; t.linalg.matrix_norm(z,1,keepdim=True) ; t.linalg.matrix_norm(z,'nuc')
t.linalg.solve(m,v[:4]) ; t.linalg.solve(m,m) ; t.linalg.inv(m) ; t.linalg.svdvals(x) ; t.linalg.matrix_rank(m)
t.linalg.pinv(x) ; t.linalg.multi_dot([x,m,m]) ; t.special.expit(x) ; t.special.erf(x) ; t.special.xlogy(u,u)
t.special.logsumexp(x,1) ; t.special.softmax(x,1) ; t.special.log1p(u) ; t.einsum('ij,jk->ik',x,m)
t.einsum('ij,jk->ik',[x,m]) ; t.einsum('bij,bij->b',z,z) ; t.einsum('...i,i->...',z,m[0]) ; t.matmul(x,m) ; x@m
x.mm(m) ; t.bmm(z,z.mT) ; t.baddbmm(t.zeros(2,3,3),z,z.mT,beta=0,alpha=.5) ; t.addmm(t.zeros(4),x,m) ; t.mv(m,m[0])
t.dot(v,w) ; t.outer(v,w) ; t.matmul(x,i) ; i@i.t() ; x@x ; t.special.logit(u) ; x.addmm(.5,2,x,m)
t.addmm(.5,x,2,x,m) ; x.clone().addmm_(.5,x,m) ; x.addmm(x,m) ; t.ger(v,w) ; t.outer(v,v) ; x@m[0] ; m[0]@m ; v.dot(v)
x.mv(m[0]) ; t.mm(x,m) ; z.bmm(z.mT) ; t.baddbmm(t.ones(2,3,3),z,z.mT,beta=2,alpha=3)
t.addmm(i[:,:3],i,j.t(),alpha=2.6,beta=.6) ; t.addmv(i[:,0],i,j[0],alpha=2.6,beta=.6)
t.addbmm(i[:,:3],i[None,:,:3],j[None,:,:3],alpha=2.6,beta=.6)
t.baddbmm(i[None,:,:3],i[None,:,:3],j[None,:,:3],alpha=2.6,beta=.6) ; t.addr(b,b[:,0],b[0])
t.addr(b,b[:,0],b[0],beta=2,alpha=3) ; t.addr(b,b[:,0],b[0],beta=0) ; t.addr(b,b[:,0],b[0],alpha=0)
""",
    "reductions": r"""
t.sum(x,axis=1) ; t.sum(x,dim=1,keepdims=True) ; t.sum(input=x,dim=0) ; t.sum(i,dtype=t.float32) ; t.max(x,y)
t.max(x,other=y) ; t.max(x,dim=1) ; t.max(x,1,True) ; x.max(axis=1)
t.max(x,dim=1,out=(t.empty(3),t.empty(3,dtype=t.int64))) ; x.argmax(dim=1,keepdim=True) ; x.argmax(1,True)
x.var(1,correction=0) ; x.std(0,False) ; x.std(False) ; x.var(unbiased=False) ; t.std(x,False) ; t.var(x,0,True,True)
b.sum() ; t.cumsum(x,-1) ; t.cumsum(b,0) ; i.cumsum(0) ; x.cumsum(dim=0,dtype=t.float64) ; x.cumprod(1) ; x.prod(1)
i.prod() ; x.any() ; x.any(1) ; b.all(dim=1,keepdim=True) ; b.all((0,1)) ; x.norm() ; x.norm(dim=1) ; x.norm(2,1,True)
x.norm(p=1,dim=0) ; x.norm(p='fro') ; x.norm(float('inf')) ; t.norm(x,p=2,dim=1,keepdim=True) ; t.mean(i)
t.mean(i,dtype=t.float32) ; x.mean((0,1)) ; x.mean(-1,True) ; t.logsumexp(x,1) ; t.logsumexp(x,dim=(0,1),keepdim=True)
x.count_nonzero() ; x.count_nonzero(0) ; t.count_nonzero(i,dim=1) ; x.sum().backward() ; z.sum(1,True)
z.mean(-1,keepdim=True) ; z.std(0,unbiased=False) ; z.var(1) ; z.std(0,False) ; z.max(1,True) ; z.min(-1)
z.argmax(1,True) ; z.norm(2,1) ; z.norm(p=1,dim=(0,1)) ; z.norm(float('inf'),dim=0) ; z.norm(dim=-1,keepdim=True)
z.norm(3) ; z.var(dim=(0,1),correction=0) ; z.norm(0,1) ; z.norm(2,1,dtype=z.dtype) ; z.logsumexp((0,1),True)
x.max(x*2) ; n[0].sum(0) ; n[0].mean(-1) ; n[0].max(0) ; n[0].argmax() ; n[0].amax() ; n[0].prod() ; n[0].cumsum(0)
n[0].sort() ; n[0].softmax(0) ; n[0].sum(keepdim=True,dim=0) ; n[0].norm() ; n.max() ; n.min(0) ; n.argmax()
n.amin() ; n.sum()
""",
    "functions of each element": r"""
t.asin(u) ; t.acos(u) ; t.sinh(x) ; t.asinh(x) ; t.acosh(x.abs()+1) ; t.atanh(u*.9) ; t.erfc(x) ; t.erfinv(u)
t.sinc(x) ; t.hypot(x,y) ; t.logaddexp(x,y) ; t.logaddexp2(x,y) ; t.xlogy(u,u) ; t.xlogy(t.zeros(3),n[:3])
t.xlogy(2,u) ; t.heaviside(x,y) ; t.copysign(x,y) ; t.copysign(x,-1.0) ; t.frac(x) ; t.logit(u) ; t.logit(u,1e-3)
t.fmax(n,t.zeros(5)) ; t.float_power(i,2) ; t.ldexp(x,i) ; t.gcd(i,j) ; t.lcm(i,j) ; t.rsub(x,2)
t.addcmul(x,x,y,value=2) ; t.addcdiv(x,x,y.abs()+1,value=.5) ; t.add(input=x,other=y) ; t.add(x,y,out=t.empty(0))
t.where(b,x,y) ; t.where(b,x,0) ; t.where(b,1,0) ; t.where(b,1.,0.) ; t.where(b) ; t.where(x>0,x,t.tensor(0.))
t.where(b,i,0.5) ; t.where(i,x,y) ; x.where(b,0) ; x.where(b,y) ; t.clamp(x,min=0) ; t.clamp(x,-.5,.5)
t.clamp(x,min=y) ; t.clamp(x,max=y,min=None) ; t.clamp(i,1.5) ; t.clip(x,0,1) ; x.clamp_min(0) ; t.clamp(x)
t.softmax(x,dim=-1) ; t.softmax(x,-1,dtype=t.float64) ; x.softmax(1) ; t.log_softmax(x,1) ; t.sigmoid(i) ; t.exp(i)
t.sqrt(i) ; t.relu(i-4) ; t.abs(i) ; t.sin(b) ; x.div(y,rounding_mode='trunc') ; t.div(i,3,rounding_mode='floor')
x.round(decimals=1) ; t.round(x*10) ; x.isnan() ; t.isinf(n) ; t.nan_to_num(n) ; t.floor_divide(x,2)
t.remainder(-5,t.tensor(3)) ; t.fmod(x,1) ; t.pow(2,x) ; t.pow(x,2) ; t.square(x) ; t.true_divide(i,2)
t.lerp(x,y,.3) ; t.logical_not(b) ; t.bitwise_and(i,3) ; t.maximum(x,y) ; t.minimum(x,t.tensor(0.)) ; x.sign()
x.sgn() ; t.bitwise_not(i)
""",
    "operators, attributes and Python protocols": r"""
t.det(m) ; t.inverse(m) ; t.slogdet(m) ; x.type_as(i) ; isinstance(i,t.LongTensor) ; isinstance(x,t.FloatTensor)
x.to(t.float64) ; x.to('cpu') ; x.to(i) ; x.to('cpu',t.float64) ; x.to(device='cpu',dtype=t.int64)
x.to(t.device('cpu'),non_blocking=True) ; x.to(dtype=t.float16,copy=True) ; x.half() ; x.double() ; x.int()
x.short() ; x.char() ; x.byte() ; x.bool() ; str(x.dtype) ; str(x.shape) ; repr(x.shape[:1]) ; str(x.shape+(5,))
str(t.Size([1,2])*2) ; x.shape[0] ; x.size() ; x.size(-1) ; x.shape.numel() ; x.dim() ; x.ndimension() ; x.nelement()
x.element_size() ; x.stride() ; x.is_contiguous() ; x.storage_offset() ; x[1:,1:].storage_offset()
x.dtype.is_floating_point ; x.dtype.itemsize ; x.device.type ; str(x.device) ; repr(x.device) ; x.layout==t.strided
x.is_sparse ; x.numpy(force=True) ; t.is_floating_point(x) ; t.is_complex(x) ; t.is_nonzero(t.tensor(1))
t.can_cast(t.float32,t.int64) ; t.finfo(t.float32).min ; t.finfo(t.float16).max ; t.finfo().eps ; t.iinfo(t.int64).max
t.finfo(x.dtype).min ; ~b ; b&b ; b|b.t()[:3,:3].any() ; b^True ; 1-b.float() ; 1-b ; x-True ; -b ; b.float().mean()
b+b ; b*x ; i/2 ; i//2 ; i%4 ; -i%4 ; i**2 ; 2**i ; 2.0**x ; x**-0.5 ; x**2 ; x**0.5 ; x**y ; i**-1 ; x//2 ; x%1.5
divmod(5,3) ; x/np.sqrt(4) ; np.float64(2)*x ; np.sqrt(4)/u ; x*np.float32(2) ; x+np.ones((3,4))
x*np.ones((3,4),dtype='f4') ; np.float32(3)+i ; x==None ; (x==None) is False ; x!=None ; x is None ; x=='a'
3 in t.tensor([1,2,3]) ; int(t.tensor(3.7)) ; float(t.tensor(3)) ; bool(t.tensor(0)) ; bool(t.tensor([])) ; bool(x)
round(t.tensor(3.7)) ; round(t.tensor(3.14159),2) ; abs(x) ; +x ; list(range(t.tensor(3))) ; [10,20,30][t.tensor(1)]
f"{t.tensor(3.14159):.2f}" ; f"{t.tensor(3)}" ; f"{t.tensor([1.,2.])}" ; f"{t.tensor(3):>5}"
"%.2f"%t.tensor(3.14159) ; "%d"%t.tensor(3) ; "{:.3f}".format(t.tensor([3.14159])[0]) ; f"{t.tensor([3.5]):.2f}"
__import__('math').sqrt(t.tensor(4.)) ; __import__('math').exp(t.tensor(1.)) ; len(x) ; len(t.tensor(3))
[float(k) for k in v] ; list(t.tensor([1,2])) ; max(t.tensor([1,3,2])) ; sum(t.tensor([1,3,2])) ; sum([x,y])
sorted(t.tensor([3,1,2])) ; np.array(x) ; np.asarray(x).dtype ; np.exp(x) ; np.array([t.tensor(1),t.tensor(2)])
x.numpy() ; x.tolist() ; x.item() ; x.T ; z.mT ; x[None].squeeze() ; x[None].squeeze(0) ; x[:,None].squeeze(dim=1)
x[None,:,None].squeeze((0,2)) ; t.allclose(x,x+1e-9) ; t.equal(x,x) ; x.equal(y) ; t.isclose(x,y) ; t.is_tensor(x)
i<<1 ; i>>1 ; 1<<i ; i&1 ; x.data_ptr()==x.view(-1).data_ptr()
x.untyped_storage().data_ptr()==x[1].untyped_storage().data_ptr() ; x.is_pinned() ; x.requires_grad_().is_leaf
x.requires_grad_().t().contiguous().stride()
""",
    "einsum": r"""
t.einsum('ij->ji',x) ; t.einsum('ij',x) ; t.einsum('ji',x) ; t.einsum('ii',m) ; t.einsum('ii->i',m)
t.einsum('ij->',x) ; t.einsum('ij->j',x) ; t.einsum('...i->...',z) ; t.einsum('i,i',v,w) ; t.einsum('i,j->ji',v,w)
t.einsum('ij,jk',x,m) ; t.einsum('ij,jk -> ki',x,m) ; t.einsum('bij,bjk->bik',z,z.mT)
t.einsum('bhqd,bhkd->bhqk',z[None],z[None,:,:2]) ; t.einsum('nqhd,nkhd->nhqk',z[None],z[None,:1])
t.einsum('nhql,nlhd->nqhd',z[None],z.permute(2,0,1)[None]) ; t.einsum('...ij,...jk->...ik',z[:,None],m)
t.einsum('i...,i...->...',x,y) ; t.einsum('ij,kj,lj->ikl',x,y,m) ; t.einsum('abc,cd,de->abe',z,m,m)
t.einsum('ij,ij->i',x,y) ; t.einsum('ij,j->ij',x,m[0]) ; t.einsum('ii,ij->j',m,m) ; t.einsum('b...,b...->b...',z,z)
t.einsum('ijk,lk->ijl',z,x) ; t.einsum('ij,kl->ijkl',x,y) ; t.einsum('iij->j',m.view(2,2,4))
t.einsum('i,->i',v,v[0]) ; t.einsum('Bt,tD->BD',x,m)
""",
    "keywords": r"""
x.mul_(other=y) ; x.add_(other=y,alpha=2) ; x.sub_(other=y,alpha=2) ; x.div_(other=y,rounding_mode='floor')
x.lerp_(end=y,weight=.25) ; x.clamp_(min=.2,max=.8) ; x.masked_fill_(mask=y>0,value=3.)
x.copy_(other=y,non_blocking=True) ; x.addcmul_(tensor1=y,tensor2=y,value=.5)
x.addcdiv_(tensor1=y,tensor2=y+3,value=.5) ; x.scatter_(dim=0,index=i%3,src=y)
x.index_fill_(dim=1,index=t.tensor([0,2]),value=7.) ; x.fill_(value=2.5) ; x.pow_(exponent=2) ; t.det(input=m)
t.slogdet(input=m) ; t.linalg.cholesky(m@m.T+t.eye(4)) ; t.cholesky(input=m@m.T+t.eye(4))
t.cholesky_solve(input=m,input2=t.linalg.cholesky(m@m.T+t.eye(4))) ; t.split_with_sizes(x,split_sizes=[1,3],dim=1)
t.split(tensor=x,split_size_or_sections=2,dim=1) ; t.tensor_split(x,sections=2,dim=1) ; x.hsplit(indices=(1,2))
t.isin(element=1.,test_elements=x) ; t.isin(elements=x,test_element=1.) ; x.resize_(size=(1,2))
t.resize_as_(x,the_template=y[:,:2]) ; x.sum_to_size(size=(1,4))
x.set_(source=y,storage_offset=1,size=(2,2),stride=(2,1)) ; x.set_(y,2,(2,2)) ; x.to(tensor=i)
x.uniform_(**{'from':2,'to':2}) ; x.normal_(mean=2,std=0.)
""",
}


@pytest.mark.parametrize("family", EXPRESSIONS)
def test_as_torch(family: str) -> None:
    each(split(EXPRESSIONS[family]), assert_alike)
